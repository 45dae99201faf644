"""Worker processes that a run starts for itself, and what becomes of it if they do not start."""

import distributed
import pytest

from mlfs_dask.errors import MachineError
from mlfs_dask.jobs.coordinator import resume_run
from mlfs_dask.jobs.rundir import all_runs


@pytest.mark.parametrize("error", [RuntimeError("Nanny failed to start."), OSError("no memory")])
def test_processes_that_do_not_start_are_one_message_and_the_run_can_be_resumed(
    run_tiny, tmp_path, monkeypatch, error
):
    def fails(**_):
        raise error

    runs = tmp_path / "runs"
    with monkeypatch.context() as patch:
        patch.setattr(distributed, "LocalCluster", fails)
        with pytest.raises(MachineError, match=f"did not start: {error}") as told:
            run_tiny("run.workers=2", runs=runs)
    assert "Resume the run" in told.value.hint
    (folder,) = all_runs(runs)
    assert resume_run(folder).state == "done"
