"""Whole data sets of many features: tmc2007 in its full shape, and others as they are shipped.

What counts and sums per label set are asked for: seconds on two cores, memory of each process. On
a cluster every selection has the same bits as on threads.
"""

from dataclasses import replace

import pytest

from benchmarks.large import LargeStores, Selection

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
