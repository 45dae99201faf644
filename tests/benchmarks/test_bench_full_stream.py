"""Streams of features from the full shape of tmc2007: words that arrive one by one.

Most words are in a few documents, so most rows are equal for long, and rare words tell few of them
apart. The same decisions on threads as on a cluster.
"""

from dataclasses import replace

import pytest

from benchmarks.large import GIB, LargeStores, Selection

pytestmark = pytest.mark.slow


@pytest.mark.cluster
@pytest.mark.parametrize("method", ["nrs-stream", "ofs-a3m"])
def test_tmc2007_whole(large: LargeStores, method) -> None:
    what = f"{method}, first 2,000 arrivals of 28,596 x 49,060 as tmc2007"
    parameters = {"arrival": list(range(2_000 if large.data is not None else 40))}
    here = Selection(large.tmc2007(), method, parameters)
    limits = {"at_most_seconds": 3_600, "at_most_bytes": 4 * GIB}
    alone = large.line(what, here, **limits)
    spread = large.line(what, replace(here, workers=2), **limits)
    assert spread.digest == alone.digest
    assert alone.facts["steps"] == len(parameters["arrival"])
