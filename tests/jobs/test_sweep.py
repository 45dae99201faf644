"""[sweep]: laid out as plain entries when the job file is read."""

import itertools
import tomllib

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import JobFileError
from mlfs_dask.jobs.digest import job_digest
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.schema import job_schema
from mlfs_dask.jobs.sweep import Entry

HEAD = """
schema = 1
name = "x"
[data]
store = "emotions"
"""
SWEPT_ENTRY = """
[[select]]
method = "spec"
label = "A"
"""
OTHERS = """
[[select]]
method = "spec"
similarity = "rbf-labels"
[evaluate]
[[evaluate.classifier]]
method = "mlknn"
"""
JOB = HEAD + SWEPT_ENTRY + OTHERS


def swept(*lines, entries=SWEPT_ENTRY):
    return HEAD + entries + OTHERS + "[sweep]\n" + "\n".join(lines) + "\n"


def parse(text, *overrides):
    return parse_job(text.encode(), "job.toml", overrides)


def problems(*lines, overrides=()):
    with pytest.raises(JobFileError) as caught:
        parse(swept(*lines), *overrides)
    return list(caught.value.problems)


def test_each_value_becomes_an_entry():
    job = parse(swept('"select.0.phi" = [1, 2]', '"evaluate.classifier.0.n_neighbors" = [3, 5]'))
    assert [select.label for select in job.select] == [
        *("A [phi=1]", "A [phi=2]", "spec [similarity=rbf-labels]"),
    ]
    assert [select.params["phi"] for select in job.select[:2]] == [1, 2]
    labels = [method.label for method in job.evaluate.classifier]
    assert labels == ["mlknn [n_neighbors=3]", "mlknn [n_neighbors=5]"]
    assert job.sweep == {
        "select.0.phi": (1, 2),
        "evaluate.classifier.0.n_neighbors": (3, 5),
    }


def test_keys_of_one_entry_are_combined_in_the_order_of_the_file():
    lines = ('"select.1.phi" = [1, 2]', '"select.1.impute" = ["none", "mean"]')
    labels = [select.label for select in parse(swept(*lines)).select[1:]]
    base = "spec [similarity=rbf-labels]"
    assert labels == [
        *(f"{base} [phi=1, impute=none]", f"{base} [phi=1, impute=mean]"),
        *(f"{base} [phi=2, impute=none]", f"{base} [phi=2, impute=mean]"),
    ]


def test_a_table_enters_by_its_label_or_its_position():
    line = (
        '"select.0.prefilter" = [{ method = "mllap", n = 5, label = "few" }, '
        '{ method = "mllap", n = 9 }]'
    )
    job = parse(swept(line))
    assert [select.label for select in job.select[:2]] == ["A [prefilter=few]", "A [prefilter=1]"]
    assert [select.prefilter.n for select in job.select[:2]] == [5, 9]


def test_a_swept_key_takes_the_place_of_the_entrys_own():
    text = swept('"select.1.similarity" = ["jaccard", "class"]')
    labels = [select.label for select in parse(text).select[1:]]
    assert labels == ["spec [similarity=jaccard]", "spec [similarity=class]"]


def test_true_and_lists_are_written_as_in_the_file():
    entry = Entry({}, "select.0", {"a": ("", "true"), "b": ("", "[1, 2]")})
    assert entry.label("x") == "x [a=true, b=[1, 2]]"


@pytest.mark.parametrize("line", ["select.0.phi = [1, 2]", '"select.0.phi" = [1, 2]'])
def test_keys_may_stand_in_quotes_or_not(line):
    text = swept(line)
    assert [select.params["phi"] for select in parse(text).select[:2]] == [1, 2]
    jsonschema.validate(tomllib.loads(text), job_schema())


@pytest.mark.parametrize("key", ["sweep.select.0.phi", 'sweep."select.0.phi"'])
def test_sweeps_from_outside(key):
    job = parse(JOB, f"{key}=[1, 3]")
    assert [select.params["phi"] for select in job.select[:2]] == [1, 3]


def by_hand(*phis):
    entries = "".join(
        f'[[select]]\nmethod = "spec"\nlabel = "A [phi={phi}]"\nphi = {phi}\n' for phi in phis
    )
    return HEAD + entries + OTHERS


@given(phis=st.lists(st.sampled_from([1, 2, 3]), min_size=1, unique=True))
def test_a_sweep_is_the_same_job_as_entries_written_by_hand(phis):
    job, same = parse(swept(f'"select.0.phi" = {phis}')), parse(by_hand(*phis))
    assert job.select == same.select
    assert job_digest(job, []) == job_digest(same, [])


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_points_are_the_product_of_all_keys(sizes):
    grids = {
        "phi": [1, 2, 3],
        "impute": ['"none"', '"mean"'],
        "n_features_to_select": [4, 5, 6],
    }
    axes = {key: grid[:size] for (key, grid), size in zip(grids.items(), sizes, strict=False)}
    lines = [f'"select.0.{key}" = [{", ".join(map(str, v))}]' for key, v in axes.items()]
    job = parse(swept(*lines))
    points = list(itertools.product(*axes.values()))
    assert len(job.select) == len(points) + 1
    for select, point in zip(job.select, points, strict=False):
        wanted = [str(value).strip('"') for value in point]
        assert [str(select.params[key]) for key in axes] == wanted
    assert len({select.label for select in job.select}) == len(job.select)


WRONG = [
    (
        '"select.0.phy" = [1]',
        "sweep.\"select.0.phy\": unknown key; did you mean 'phi'? Allowed here: similarity, ",
    ),
    (
        '"selct.0.phi" = [1]',
        "sweep.\"selct.0.phi\": unknown key; did you mean 'select.0.phi'? Allowed here: "
        "select.N.KEY, evaluate.classifier.N.KEY",
    ),
    ('"data.impute" = ["none"]', 'sweep."data.impute": unknown key'),
    ("seed = [1, 2]", 'sweep."seed": unknown key'),
    (
        '"select.0.label" = ["a", "b"]',
        'sweep."select.0.label": unknown key',
    ),
    ('"select.0.datasets" = [["a"]]', 'sweep."select.0.datasets": unknown key'),
    ('"evaluate.classifier.0.prefilter" = [1]', 'sweep."evaluate.classifier.0.prefilter": unknown'),
    (
        '"select.2.phi" = [1]',
        'sweep."select.2.phi": there is no select.2; expected a position from 0 to 1',
    ),
    (
        '"select.-1.phi" = [1]',
        'sweep."select.-1.phi": unknown key',
    ),
    (
        '"select.0.phi" = []',
        'sweep."select.0.phi": [] is not allowed; expected a list of at least one value',
    ),
    (
        '"select.0.phi" = 2',
        'sweep."select.0.phi": 2 is not allowed; expected a list of at least one value',
    ),
    (
        '"select.0.phi" = [1, 2, 1]',
        'sweep."select.0.phi".2: 1 is there twice, see sweep."select.0.phi".0; leave one out',
    ),
    (
        '"select.0.phi" = [1, 7]',
        'sweep."select.0.phi".1: 7: expected one of 1, 2, 3',
    ),
    (
        '"select.0.phi" = [1, "two"]',
        "sweep.\"select.0.phi\".1: 'two' is not allowed; expected a whole number",
    ),
    (
        '"select.0.prefilter" = [{ method = "mllap", n = 1 }, { method = "mlap", n = 1 }]',
        "sweep.\"select.0.prefilter\".1.method: no selector is named 'mlap'; did you mean",
    ),
    (
        '"select.0.prefilter" = [{ method = "mllap", n = 1, label = 3 }]',
        'sweep."select.0.prefilter".0.label: 3 is not allowed; expected a string',
    ),
    (
        '"select.0.phi" = [1]\nselect.0.phi = [2]',
        'sweep."select.0.phi": is there twice, in quotes and without; leave one out',
    ),
    (
        "\n".join(
            f'"select.0.{key}" = {list(range(1, 200))}' for key in ("phi", "n_features_to_select")
        ),
        "sweep: 39601 points of select.0 are not allowed; expected at most 10000",
    ),
]


@pytest.mark.parametrize(("lines", "problem"), WRONG, ids=[lines[:60] for lines, _ in WRONG])
def test_what_cannot_be_swept_is_told_where_it_stands(lines, problem):
    found = problems(lines)
    assert any(each.startswith(problem) for each in found), found
    assert len(found) == len(set(found))


def test_a_problem_of_the_entry_itself_is_told_once():
    found = problems('"select.0.phi" = [1, 2, 3]', overrides=["select.0.similarity=jacard"])
    assert found == [
        "select.0.similarity: 'jacard' is not allowed; expected 'jaccard', 'rbf-labels', "
        "'rbf-features' or 'class'"
    ]


def test_without_entries_there_is_nothing_to_sweep():
    text = HEAD + '[sweep]\n"select.0.phi" = [1]\n'
    with pytest.raises(JobFileError) as caught:
        parse(text)
    expected = 'sweep."select.0.phi": there is no select.0; expected a [[select]] first'
    assert expected in caught.value.problems
    with pytest.raises(JobFileError, match="sweep: 3 is not allowed; expected a table"):
        parse("sweep = 3\n" + JOB)


def test_labels_of_points_must_not_meet_others():
    twin = '[[select]]\nmethod = "spec"\nlabel = "A [phi=1]"\n'
    with pytest.raises(JobFileError) as caught:
        parse(swept('"select.0.phi" = [1]', entries=SWEPT_ENTRY + twin))
    assert caught.value.problems == (
        "select.1.label: 'A [phi=1]' is also the label of select.0; give them other names",
    )


def test_a_thousand_points_are_read_in_one_go():
    shares = [round(0.0001 * i, 4) for i in range(1, 1001)]
    job = parse(swept(f'"select.0.n_features_to_select" = {shares}'))
    assert len(job.select) == 1001
    assert job.selects["A [n_features_to_select=0.1]"].params["n_features_to_select"] == 0.1
