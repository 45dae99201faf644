"""Which tiles a process keeps."""

import numpy as np
import pytest

from mlfs_dask.graphs import tilecache
from mlfs_dask.graphs.tilecache import IDLE_SECONDS, TileCache

TILE = np.zeros(10)


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(tilecache, "time", made)
    return made


class Loads:
    """A cache, and what it had to load."""

    def __init__(self, limit):
        self.cache, self.loaded = TileCache(limit), []

    def get(self, key, tile=TILE):
        def load():
            self.loaded.append(key)
            return tile

        return self.cache.get(key, load)

    def loads_of(self, keys):
        self.loaded.clear()
        for key in keys:
            self.get(key)
        return "".join(self.loaded)


def test_the_least_recently_used_go_first(clock):
    loads = Loads(5 * TILE.nbytes)
    assert loads.loads_of("abcde") == "abcde"
    assert loads.loads_of("af") == "f"
    assert loads.loads_of("acdef") == ""
    assert loads.loads_of("b") == "b"


def test_a_tile_that_is_large_for_the_cache_is_not_kept(clock):
    loads = Loads(5 * TILE.nbytes)
    for _ in range(2):
        loads.get("a", np.zeros(20))
    assert loads.loaded == ["a", "a"]


def test_tiles_of_jobs_that_ended_are_let_go(clock):
    """A job with missing values has tiles of its own, and a worker does thousands of jobs."""
    loads = Loads(100 * TILE.nbytes)
    loads.loads_of("abc")
    clock.now += IDLE_SECONDS - 1
    assert loads.loads_of("a") == ""
    clock.now += 2
    assert loads.loads_of("d") == "d"
    assert loads.cache._bytes == 2 * TILE.nbytes
    assert loads.loads_of("adb") == "b"
