"""``mlfs data export --run``: the features a run would have you keep, in a file."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.jobs.chosen import parse_top
from mlfs_dask.jobs.results import open_run
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.storage.store import open_store
from mlfs_dask.testing.jobs import make_tiny_store


@pytest.fixture
def export(invoke):
    """Call ``mlfs data export``."""
    return lambda *arguments, code=0: invoke("data", "export", *arguments, code=code)


@pytest.fixture
def store(tiny_run):
    manifest = json.loads(tiny_run.manifest.read_bytes())
    return open_store(Path(manifest["datasets"][0]["path"]))


@pytest.fixture
def order(tiny_run):
    return open_run(tiny_run.path).order("mllap").tolist()


def edit(path, change):
    """Change results.json and the checksum that guards it: as a run of another kind has it."""
    document = json.loads(path.read_bytes())
    for selection in document["selections"]:
        if selection["fold"] is None:
            change(selection)
    path.write_text(json.dumps(document))
    state = path.with_name("state.json")
    facts = json.loads(state.read_bytes())
    facts["outputs"] = {}
    state.write_text(json.dumps(facts))


@pytest.mark.parametrize("ending", ["npz", "arff", "csv", "svm"])
def test_the_best_features_come_back_in_every_format(export, store, order, tmp_path, ending):
    target = tmp_path / f"best.{ending}"
    files = export(
        "--run", "tiny", "--selector", "mllap", "--top", "3", "-o", target
    ).stdout.split()
    read = {
        "npz": ReadOptions(),
        "arff": ReadOptions(),
        "csv": ReadOptions(labels=3),
        "svm": ReadOptions(index_base=1, n_features=3),
    }[ending]
    data = [file for file in files if not file.endswith(".xml")]
    test = data[1] if len(data) == 2 else None
    back = ingest(open_table(Path(data[0]), test=test, options=read), tmp_path / "back.zarr")
    kept = sorted(order[:3])
    rows = np.argsort(store.split, kind="stable") if ending == "arff" else slice(None)
    np.testing.assert_array_equal(np.asarray(back.X), np.asarray(store.X)[rows][:, kept])
    np.testing.assert_array_equal(back.Y, store.Y[rows])
    if ending != "svm":
        assert back.feature_names == tuple(store.feature_names[f] for f in kept)


@pytest.mark.parametrize(
    ("top", "count"),
    [("1", 1), ("8", 8), ("0.25", 2), (".3125", 3), ("0.01", 1), ("1.0", 8), ("selected", 8)],
)
def test_how_many(document, tiny_run, order, tmp_path, top, count):
    arguments = ("--run", tiny_run.path, "--selector", "mllap", "--top", top)
    found = document("data", "export", *arguments, "-o", tmp_path / "x.npz")
    assert found["features"] == sorted(order[:count])
    assert (found["format"], found["not_held"]) == ("npz", [])


def test_the_subset_of_the_method_itself(document, tiny_run, tmp_path):
    edit(tiny_run.results, lambda selection: selection.update(support=[5, 2]))
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "selected")
    found = document("data", "export", *arguments, "-o", tmp_path / "x.npz")
    assert found["features"] == [2, 5]


def test_an_empty_subset_is_no_table(export, tiny_run, tmp_path):
    edit(tiny_run.results, lambda selection: selection.update(support=[]))
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "selected")
    told = export(*arguments, "-o", tmp_path / "x.npz", code=2).stderr
    assert "'mllap' has chosen no feature of tiny by itself" in told


@pytest.mark.parametrize(
    "top", ["", "x", "-1", "1e1", "1_0", "٣", " 3", "nan", "inf", ".", "9" * 5000, "3 ", "20%"]
)
def test_what_is_no_number_of_features(export, tiny_run, tmp_path, top):
    arguments = ("--run", "tiny", "--selector", "mllap", "-o", tmp_path / "x.npz")
    told = export(*arguments, f"--top={top}", code=2).stderr
    assert "expected a number of features such as 12, a share such as 0.2, or 'selected'" in told
    assert len(told) < 400
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize("top", ["0", "9", "0.0", "1.5", "999999999999999999", "1.0e-400"])
def test_numbers_out_of_range(export, tiny_run, tmp_path, top):
    arguments = ("--run", "tiny", "--selector", "mllap", "-o", tmp_path / "x.npz")
    told = export(*arguments, "--top", top, code=2).stderr
    assert "expected 1 to 8" in told or "outside (0, 1]" in told
    assert not (tmp_path / "x.npz").exists()


@given(st.text(max_size=8) | st.from_regex(r"[0-9.e+-]{0,9}", fullmatch=True))
def test_whatever_is_typed_is_a_number_or_an_input_error(text):
    try:
        top = parse_top(text)
    except InputError:
        assert text != "selected"
    else:
        assert top == "selected" or (isinstance(top, (int, float)) and top >= 0)


def test_unknown_selectors_are_answered_with_those_there_are(export, tiny_run, tmp_path):
    arguments = ("--run", "tiny", "--selector", "spec", "--top", "3", "-o", tmp_path / "x.npz")
    told = export(*arguments, code=2).stderr
    assert "0 selections on all rows by 'spec'" in told
    assert "'SPEC' on tiny, 'mllap' on tiny" in told


def test_a_subset_per_problem_has_no_best_features(export, tiny_run, tmp_path):
    def per_problem(selection):
        selection.update(problems=[[0], [1, 2]], order=[[0, 1], [1, 0]], support=[[0], [1]])
        selection.update(scores=[[1.0, 2.0], [2.0, 1.0]])

    edit(tiny_run.results, per_problem)
    arguments = ("--run", "tiny", "--selector", "mllap", "-o", tmp_path / "x.npz")
    for top in ("1", "selected"):
        told = export(*arguments, "--top", top, code=2).stderr
        assert "'mllap' chose features for each of 2 problems by itself" in told


def test_a_run_on_other_data_is_refused(export, tiny_run, tmp_path):
    other = make_tiny_store(tmp_path / "stores", name="other", seed=9)
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "3", "-o", tmp_path / "x.npz")
    told = export(other.path, *arguments, code=2).stderr
    assert "was made on other data than" in told
    assert other.digest[:12] in told
    assert not (tmp_path / "x.npz").exists()


def test_the_same_data_elsewhere_and_by_another_name_will_do(document, store, order, tmp_path):
    same = ingest(store, tmp_path / "stores" / "same.zarr", name="same", tile=16)
    assert same.digest == store.digest
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "2", "-o", tmp_path / "x.npz")
    assert document("data", "export", "same", *arguments)["features"] == sorted(order[:2])


def test_a_store_is_named_where_a_run_has_several(export, document, tiny_run, store, tmp_path):
    manifest = json.loads(tiny_run.manifest.read_bytes())
    second = {**manifest["datasets"][0], "name": "second", "digest": "0" * 64}
    manifest["datasets"].append(second)
    tiny_run.manifest.write_text(json.dumps(manifest))
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "2", "-o", tmp_path / "x.npz")
    told = export(*arguments, code=2).stderr
    assert "has 2 data sets" in told
    assert "tiny, second" in told
    assert len(document("data", "export", store.path, *arguments)["features"]) == 2


def test_a_store_that_is_gone_is_named(export, tiny_run, tmp_path):
    manifest = json.loads(tiny_run.manifest.read_bytes())
    manifest["datasets"][0]["path"] = str(tmp_path / "gone.zarr")
    tiny_run.manifest.write_text(json.dumps(manifest))
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "2", "-o", tmp_path / "x.npz")
    assert "gone.zarr" in export(*arguments, code=2).stderr


def test_a_run_without_results_is_refused(export, cut_run, tmp_path):
    arguments = ("--run", "tiny", "--selector", "mllap", "--top", "2", "-o", tmp_path / "x.npz")
    assert "results.json is missing" in export(*arguments, code=2).stderr


@pytest.mark.parametrize(
    ("format", "name"), [(None, "tiny-SPEC-2.npz"), ("libsvm", "tiny-SPEC-2.svm")]
)
def test_a_file_name_is_made_where_none_is_given(
    export, tiny_run, tmp_path, monkeypatch, format, name
):
    monkeypatch.chdir(tmp_path)
    more = ("--format", format) if format else ()
    arguments = ("--run", "tiny", "--selector", "SPEC", "--top", "2", *more)
    assert export(*arguments).stdout == f"{name}\n"
    assert "exists already" in export(*arguments, code=2).stderr
    export(*arguments, "--force")


def test_a_label_makes_no_path(export, tiny_run, tmp_path, monkeypatch):
    edit(tiny_run.results, lambda s: s.update(selector="../a b/[x=1]:" + s["selector"]))
    monkeypatch.chdir(tmp_path)
    arguments = ("--run", "tiny", "--selector", "../a b/[x=1]:SPEC", "--top", "1")
    assert export(*arguments).stdout == "tiny-a-b-x=1-SPEC-1.npz\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Give a STORE, or a --run"),
        (["tiny"], "Missing option '-o'"),
        (["tiny", "-o", "x.npz", "--top", "3"], "need the --run"),
        (["tiny", "-o", "x.npz", "--selector", "mllap"], "need the --run"),
        (["--run", "tiny", "-o", "x.npz"], "--run needs --selector LABEL and --top K"),
        (["--run", "tiny", "-o", "x.npz", "--top", "3"], "--run needs --selector LABEL"),
        (["--run", "tiny", "-o", "x.npz", "--selector", "mllap"], "--run needs --selector LABEL"),
        (["--run", "nobody", "-o", "x.npz", "--selector", "a", "--top", "1"], "no run is named"),
        (["--run", "../x", "-o", "x.npz", "--selector", "a", "--top", "1"], "no run is named"),
    ],
)
def test_options_that_do_not_go_together(export, tiny_run, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    make_tiny_store(tmp_path / "stores")
    assert told in export(*arguments, code=2).stderr
    assert not (tmp_path / "x.npz").exists()
