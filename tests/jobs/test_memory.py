"""The coordinator's memory does not grow with the number of units or steps."""

import sys

import pytest

from mlfs_dask.testing.jobs import TINY_JOB
from processes import run_command

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]


@pytest.mark.slow
def test_ten_times_the_units_and_steps_take_the_same_memory(toys, tiny_store, tmp_path):
    """Peak of `mlfs run`: 160 units with 490 steps, then 1,600 units with 4,900."""
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB.replace('method = "mllap"', 'method = "toy-online"'))
    peaks = [
        run_command(
            [*MLFS, "run", str(job), "--workers", "0", "--set", f"evaluate.split.repeats={repeats}"]
        ).peak_bytes
        for repeats in (10, 100)
    ]
    assert peaks[1] - peaks[0] < 30e6, [f"{peak / 1e6:.0f} MB" for peak in peaks]
