"""Programs end without a word of Zarr's, however busy the machine is."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest
from zarr.core import sync

from mlfs_dask.storage.zarr_loop import end_loop

BUSY_AT_THE_END = """
import sys, time
import numpy as np, zarr
from zarr.core import sync
from mlfs_dask.storage.guarded import read_all

array = zarr.create_array(sys.argv[1], data=np.arange(3))
sync.loop[0].call_soon_threadsafe(time.sleep, 1.0)
"""


def test_the_end_of_a_busy_loop_is_waited_for(monkeypatch):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    loop.call_soon_threadsafe(time.sleep, 0.4)
    monkeypatch.setattr(sync, "loop", [loop])
    monkeypatch.setattr(sync, "iothread", [thread])
    end_loop()
    assert not thread.is_alive()
    end_loop()  # nothing is left to end
    loop.close()


def test_nothing_is_done_without_a_loop(monkeypatch):
    monkeypatch.setattr(sync, "loop", [None])
    monkeypatch.setattr(sync, "iothread", [None])
    end_loop()
    assert sync.loop == [None]


@pytest.mark.slow
def test_a_program_that_is_busy_at_its_end_says_nothing(tmp_path):
    """Without the wait Zarr prints "Cannot close a running event loop"."""
    command = [sys.executable, "-c", BUSY_AT_THE_END, str(tmp_path / "array.zarr")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
