"""Job files: defaults, overrides, and all problems in one report."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from mlfs_dask.errors import JobFileError, NotFoundError
from mlfs_dask.jobs import spec
from mlfs_dask.jobs.jobfile import find_job, parse_job, read_job
from mlfs_dask.jobs.schema import job_schema
from mlfs_dask.resources import declaration

FILES = sorted(declaration("jobs").rglob("*.toml"))
BASE = """
schema = 1
name = "x"
[data]
store = "emotions"
[[select]]
method = "spec"
"""
EVALUATED = BASE + '[evaluate]\n[[evaluate.classifier]]\nmethod = "mlknn"\n'


def problems(text: str, *overrides: str) -> list[str]:
    with pytest.raises(JobFileError) as caught:
        parse_job(text.encode(), "x.toml", overrides)
    assert caught.value.exit_code == 2
    return list(caught.value.problems)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_job_file_that_comes_along_is_right_and_matches_the_schema(path):
    import jsonschema

    job = read_job(path)
    jsonschema.validate(tomllib.loads(path.read_text("utf-8")), job_schema())
    assert job.name


TEMPLATE = declaration("jobs/template.toml")
CHOICES = re.findall(r'(?m)^# (["\w.]+ = .*|\[\w+\])$', TEMPLATE.read_text("utf-8"))


def test_the_template_shows_every_key():
    shown = " ".join(re.findall(r"[\w.]+", TEMPLATE.read_text("utf-8"))).split()
    tables = (spec.JobFile, spec.Data, spec.Select, spec.Evaluate, spec.Split, spec.Features)
    for table in (*tables, spec.Compare):
        assert set(table.__struct_fields__) - {"params"} <= set(shown), table


@pytest.mark.parametrize("line", [line for line in CHOICES if not line.startswith("[")])
def test_what_the_template_comments_out_is_right(line):
    """Each line that is commented out may be put in; a table's head goes with its keys.

    A comparison has to say at which point, where others may do without.
    """
    text = TEMPLATE.read_text("utf-8").replace(f"# {line}", line)
    before = text[: text.index(line)].rstrip().splitlines()
    for place in range(len(before) - 1, -1, -1):
        head = before[place]
        if head.startswith("# [") and head.endswith("]"):
            text = text.replace(head, head.removeprefix("# "))
            if head == "# [compare]":
                text = text.replace("# at = ", "at = ")
        if not head.startswith("#") or head.startswith("# ["):
            break
    job = parse_job(text.encode(), str(TEMPLATE))
    assert job != parse_job(TEMPLATE.read_bytes(), str(TEMPLATE))


def test_the_schema_on_disk_is_the_one_the_code_prints():
    written = json.loads(declaration("jobs/schema.json").read_text("utf-8"))
    printed = json.loads(json.dumps(job_schema()))
    assert written == printed, "run: python -m mlfs_dask.jobs.schema > jobs/schema.json"


def test_the_schema_refuses_what_the_reader_refuses():
    import jsonschema

    for wrong in ("seed = -1", "sed = 1"):
        text = wrong + "\n" + BASE
        problems(text)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(text), job_schema())


def test_defaults_are_filled_in():
    job = parse_job(EVALUATED.encode(), "x.toml")
    assert job.select[0].label == "spec"
    assert job.select[0].params["similarity"] == "jaccard"
    assert job.select[0].final
    assert "random_state" not in job.select[0].params
    assert "tile" not in job.select[0].params
    assert job.evaluate.split.folds == 10
    assert job.evaluate.classifier[0].params["normalize"] == "minmax"
    assert job.evaluate.baseline


def test_labels_say_what_differs_from_the_defaults():
    job = parse_job(BASE.encode(), "x.toml", ["select.0.phi=3", 'select.0.similarity="jaccard"'])
    assert job.select[0].label == "spec [phi=3]"


def test_all_problems_come_in_one_report():
    found = problems("""
schema = 2
nam = "x"
seed = "zero"
[data]
stor = "emotions"
[[select]]
method = "specs"
[[select]]
method = "spec"
similarity = "jacard"
phi = 7
[evaluate]
split = { kind = "kfold", folds = 1 }
features = { fractions = [0.5, 1.5], counts = [3] }
metrics = ["hamming"]
[[evaluate.classifier]]
method = "mlknn"
n_neighbors = "ten"
n_neigbors = 3
[run]
memory_per_worker = "lots"
""")
    text = "\n".join(found)
    for part in (
        "schema: 2 is not allowed; expected 1",
        "nam: unknown key; did you mean 'name'?",
        "name: missing",
        "seed: 'zero' is not allowed; expected a whole number (at least 0",
        "data.stor: unknown key; did you mean 'store'?",
        "data.store: missing",
        "select.0.method: no selector is named 'specs'; did you mean 'spec'?",
        "select.1.similarity: 'jacard' is not allowed; expected 'jaccard'",
        "select.1.phi: 7: expected one of 1, 2, 3",
        "evaluate.split.folds: 1 is not allowed",
        "evaluate.features.fractions.1: 1.5 is not allowed; expected a list, each item a number",
        "evaluate.metrics.0: no metric is named 'hamming'; did you mean 'hamming_loss'?",
        "evaluate.classifier.0.n_neighbors: 'ten' is not allowed; expected a whole number",
        "evaluate.classifier.0.n_neigbors: unknown key; did you mean 'n_neighbors'?",
        "run.memory_per_worker: 'lots' is not allowed",
    ):
        assert part in text, part
    assert len(found) >= 15


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("evaluate.split={ kind = 'holdout', repeats = 2 }", "holdout has one split"),
        ("evaluate.features={ fractions = [0.1], counts = [2] }", "exactly one of"),
        ("evaluate.features={ counts = [] }", "at least one value"),
        ("evaluate.metrics=[]", "at least one metric"),
        ("evaluate.classifier=[]", "at least one [[evaluate.classifier]]"),
        ("select.0.label='all'", "name of the baseline"),
        ("select.0.label=''", "printable"),
        ("data.store=[]", "a name, a path or a list"),
        ("select=3", "tables that start with [[select]]"),
        ("evaluate=3", "a table"),
        ("name='a/b'", "1 to 80 letters"),
        ("select.0.random_state=-1", "at least 0"),
        ("select.0.tile=16", "unknown key"),
        ("run.workers=-1", "at least 0"),
        ("run.workers=true", "a whole number"),
    ],
)
def test_impossible_values(change, part):
    assert any(part in problem for problem in problems(EVALUATED, change))


def test_two_selectors_need_two_labels():
    twice = BASE + '[[select]]\nmethod = "spec"\n'
    assert "also the label of select.0" in problems(twice)[0]


def test_nothing_to_do():
    assert "nothing to do" in problems('schema = 1\nname = "x"\n[data]\nstore = "a"\n')[0]


def test_broken_toml_names_the_line():
    with pytest.raises(JobFileError, match="line 2"):
        parse_job(b"schema = 1\nname = \n", "x.toml")


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("seed", "expected key=value"),
        ("seed=[1", "no TOML value"),
        ("select.4.phi=1", "a position from 0 to 0"),
        ("schema.x=1", "inside a value"),
    ],
)
def test_overrides_that_cannot_be_applied(override, part):
    assert any(part in problem for problem in problems(BASE, override))


def test_overrides_reach_lists_and_new_tables():
    changed = ["select.0.phi=2", "run.workers=1", "name=other", 'data.store=["a", "b"]']
    job = parse_job(BASE.encode(), "x.toml", changed)
    assert (job.select[0].params["phi"], job.run.workers, job.name) == (2, 1, "other")
    assert job.data.stores == ("a", "b")


def test_conventions_of_zhang_take_values_as_given_unless_told_otherwise():
    zhang = "evaluate.conventions=zhang"
    job = parse_job(EVALUATED.encode(), "x.toml", [zhang])
    assert job.evaluate.classifier[0].params["normalize"] == "none"
    job = parse_job(EVALUATED.encode(), "x.toml", [zhang, "evaluate.classifier.0.normalize=minmax"])
    assert job.evaluate.classifier[0].params["normalize"] == "minmax"


def test_classifiers_follow_the_conventions_of_the_evaluation_unless_they_have_their_own():
    job = parse_job(EVALUATED.encode(), "x.toml", ["evaluate.conventions=mulan"])
    assert job.evaluate.classifier[0].params["conventions"] == "mulan"
    own = "evaluate.classifier.0.conventions=zhang"
    job = parse_job(EVALUATED.encode(), "x.toml", [own])
    assert job.evaluate.conventions == "default"
    params = job.evaluate.classifier[0].params
    assert (params["conventions"], params["normalize"]) == ("zhang", "none")


def test_imputation_of_the_data_is_inherited_unless_a_method_has_its_own():
    job = parse_job(EVALUATED.encode(), "x.toml", ["data.impute=mean", "select.0.impute=none"])
    assert job.select[0].params["impute"] == "none"
    assert job.evaluate.classifier[0].params["impute"] == "mean"


def test_job_files_are_found_by_path_then_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_job(Path("quickstart")).name == "quickstart.toml"
    assert find_job(Path("jobs/quickstart.toml")).is_file()
    own = tmp_path / "quickstart"
    own.write_text(BASE)
    assert find_job(Path("quickstart")) == Path("quickstart")
    for wrong in ("missing", "elsewhere/quickstart.toml", "."):
        with pytest.raises(NotFoundError):
            find_job(Path(wrong))
