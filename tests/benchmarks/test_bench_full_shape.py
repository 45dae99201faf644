"""Whole data sets of many features: tmc2007 in its full shape, and others as they are shipped.

What counts and sums per label set are asked for: seconds on two cores, memory of each process. On
a cluster every selection has the same bits as on threads.
"""

import sys
from dataclasses import replace

import pytest

import mlfs_dask as mlfs
from benchmarks.large import GIB, LargeStores, Selection
from benchmarks.side_by_side import SideBySide

pytestmark = pytest.mark.slow

FULL = [
    ("spec", {}, 20),
    ("mllap", {}, 30),
    ("mddm", {"constraint": "proj"}, 10),
    ("chi2", {}, 30),
    ("mutual-info", {}, 30),
    ("spec-wrapper", {"order": 1}, 60),
    ("pmu", {"n_features_to_select": 500}, 600),
    ("mdmr", {"n_features_to_select": 500}, 600),
]


def described(method, parameters, rows):
    given = ", ".join(f"{key} = {value}" for key, value in parameters.items())
    return f"{method}{f' ({given})' if given else ''}, {rows}"


@pytest.mark.cluster
@pytest.mark.parametrize(("method", "parameters", "seconds"), FULL)
def test_tmc2007_whole(large: LargeStores, method, parameters, seconds) -> None:
    what = described(method, parameters, "28,596 x 49,060 as tmc2007")
    parameters = large.fitting(parameters)
    here = Selection(large.tmc2007(), method, parameters)
    alone = large.line(what, here, at_most_seconds=seconds)
    spread = large.line(what, replace(here, workers=2), at_most_seconds=seconds)
    assert spread.digest == alone.digest
    assert alone.bytes_read > 0


SHIPPED = [
    *("yahoo-arts", "yahoo-business", "yahoo-education", "yahoo-science"),
    *("rcv1sub1", "bibtex", "delicious", "imdb"),
]


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(("method", "parameters", "seconds"), FULL)
def test_sets_as_shipped(large: LargeStores, name, method, parameters, seconds) -> None:
    what = described(method, parameters, name)
    selection = Selection(large.real(name), method, large.fitting(parameters))
    cost = large.line(what, selection, at_most_seconds=seconds)
    assert cost.bytes_read > 0
    if method == "spec" and name == "delicious" and large.data is not None:
        assert cost.facts["road"] == "pairs"


JOB = """
schema = 1
name = "whole"
seed = 0

[data]
store = "{store}"

[[select]]
method = "spec"

[[select]]
method = "mllap"

[[select]]
method = "spec-wrapper"
order = 1

[evaluate]
split = {{ kind = "holdout" }}
features = {{ counts = [10] }}
metrics = ["hamming_loss", "average_precision"]
baseline = false

[[evaluate.classifier]]
method = "mlknn"
"""


@pytest.mark.cluster
def test_a_job_on_tmc2007_whole(large: LargeStores, side_by_side: SideBySide, tmp_path) -> None:
    """A ranking for each label, on training rows and on all: 2 million places, scores, members."""
    store = large.tmc2007()
    text = JOB.format(store=store)
    if large.data is None:  # rows come without a split of their own
        text = text.replace('"holdout"', '"kfold", folds = 2')
    job = tmp_path / "whole.toml"
    job.write_text(text, encoding="utf-8")
    cost = side_by_side.command(
        "a job of spec, mllap and spec-wrapper, 28,596 x 49,060 as tmc2007: the largest process",
        [sys.executable, "-m", "mlfs_dask", "run", str(job), "--workers", "2"],
        at_most_bytes=2 * GIB,
    )
    assert cost.peak_bytes <= 2 * GIB
    [folder] = (tmp_path / "runs").iterdir()
    run = mlfs.open_run(folder)
    d = mlfs.open_dataset(store).n_features
    for selection in run.selections:
        orders = selection["order"] if selection["problems"] else [selection["order"]]
        assert all(sorted(order) == list(range(d)) for order in orders)
    report = run.path / "report.html"
    assert 0 < report.stat().st_size < 2**20
