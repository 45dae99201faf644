"""Faults of the machine, killed writers and what they leave."""

import errno
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mlfs_dask.errors import MachineError, MlfsError, NotFoundError, StoreError
from mlfs_dask.storage import atomic
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.store import open_store
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.tables import ArrayTable

DEAD_PID = 2**22 + 1  # above the largest pid of Linux


def table(value=1.0):
    return ArrayTable(np.full((30, 4), value), np.ones((30, 2)), batch_rows=7)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("step", ["os.write", "os.fsync", "pathlib.Path.mkdir"])
def test_faults_of_the_machine(tmp_path, monkeypatch, code, step):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    folder = tmp_path / "stores"
    folder.mkdir()
    monkeypatch.setattr(step, fail)
    with pytest.raises(MachineError, match=os.strerror(code)) as caught:
        ingest(table(), folder / "t.zarr")
    monkeypatch.undo()
    assert caught.value.exit_code == 1
    assert caught.value.facts["errno"] == code
    assert list(folder.iterdir()) == []


def run(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


WRITE = """
import sys, resource
from pathlib import Path
import numpy as np
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
X = np.random.default_rng(0).random((1000, 50))
ingest(ArrayTable(X, np.ones((1000, 2))), Path(sys.argv[1]))
"""


def test_a_file_system_that_refuses_to_grow(tmp_path):
    """A real limit of the system, not a patched function."""
    done = run(WRITE, tmp_path / "t.zarr")
    assert done.returncode == 1
    assert "MachineError: cannot write the store" in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_path_through_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotFoundError, match="a part of this path is a file"):
        ingest(table(), tmp_path / "file" / "t.zarr")


def leftover(folder, role="partial", pid=DEAD_PID, name="t.zarr"):
    path = folder / f".{name}.{role}-{pid}-0123abcd"
    path.mkdir(parents=True)
    (path / "zarr.json").write_text("{}")
    return path


def test_leftovers_of_the_dead_are_cleaned(tmp_path):
    of_the_dead = leftover(tmp_path), leftover(tmp_path, name="other.zarr")
    of_the_living = leftover(tmp_path, pid=os.getppid(), name="busy.zarr")
    unrelated = leftover(tmp_path / "folder", name="deep.zarr"), tmp_path / ".partial-note"
    unrelated[1].touch()
    ingest(table(), tmp_path / "t.zarr")
    assert not any(path.exists() for path in of_the_dead)
    assert of_the_living.exists()
    assert all(path.exists() for path in unrelated)


def test_a_store_moved_away_and_not_replaced_comes_back(tmp_path):
    old = ingest(table(), tmp_path / "t.zarr")
    (tmp_path / "t.zarr").rename(tmp_path / f".t.zarr.replaced-{DEAD_PID}-0123abcd")
    ingest(table(), tmp_path / "other.zarr")
    assert open_store(tmp_path / "t.zarr").digest == old.digest


def test_a_store_moved_away_and_replaced_goes(tmp_path):
    ingest(table(), tmp_path / "t.zarr")
    moved = leftover(tmp_path, role="replaced")
    ingest(table(2.0), tmp_path / "other.zarr")
    assert not moved.exists()
    assert open_store(tmp_path / "t.zarr").X[0:1][0, 0] == 1


@pytest.mark.parametrize("can_exchange", [True, False])
def test_overwriting_swaps_whole_stores(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    ingest(table(1.0), tmp_path / "t.zarr")
    ingest(table(2.0), tmp_path / "t.zarr", overwrite=True)
    assert verify(tmp_path / "t.zarr").ok
    assert open_store(tmp_path / "t.zarr").X[0:1][0, 0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


def test_a_failed_overwrite_keeps_the_old_store(tmp_path, monkeypatch):
    ingest(table(1.0), tmp_path / "t.zarr")

    def fail(store):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("mlfs_dask.storage.ingest.write_seal", fail)
    with pytest.raises(MachineError):
        ingest(table(2.0), tmp_path / "t.zarr", overwrite=True)
    assert open_store(tmp_path / "t.zarr").X[0:1][0, 0] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


def test_two_writers_of_one_name(tmp_path):
    """The second to finish finds the store of the first."""

    class Rival(ArrayTable):
        def batches(self, max_bytes=1):
            yield from super().batches()
            ingest(table(1.0), tmp_path / "t.zarr")

    with pytest.raises(StoreError, match="exists already"):
        ingest(Rival(np.full((3, 2), 2.0), np.ones((3, 1))), tmp_path / "t.zarr")
    assert open_store(tmp_path / "t.zarr").X[0:1][0, 0] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


def test_new_files_replace_only_when_told(tmp_path):
    target = tmp_path / "a.txt"
    with atomic.new_file(target, overwrite=False) as partial:
        partial.write_text("one")
        assert not target.exists()
    with (
        pytest.raises(StoreError, match="exists already"),
        atomic.new_file(target, overwrite=False),
    ):
        pass
    with pytest.raises(ZeroDivisionError), atomic.new_file(target) as partial:
        partial.write_text("two" * (1 // 0))
    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


KILLED = """
import sys, time
from pathlib import Path
import numpy as np
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
rng = np.random.default_rng(0)
table = ArrayTable(rng.random((3000, 60)), rng.integers(0, 2, (3000, 4)), batch_rows=300)
print("ready", flush=True)
while True:
    ingest(table, Path(sys.argv[1]), tile=64, overwrite=sys.argv[2] == "force")
    print("done", flush=True)
    if sys.argv[2] != "force":
        break
"""


def kill_at_random(store, mode, longest):
    """Start a writer, SIGKILL it after a random time; whether it had finished once."""
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store), mode], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "ready\n"
    time.sleep(random.uniform(0, longest))
    writer.send_signal(signal.SIGKILL)
    output = writer.stdout.read()
    writer.wait()
    return "done" in output


def check_after_kill(store, finished):
    """Either no store at all, or a whole one; and nothing is left after the next ingest."""
    if finished or store.exists():
        assert verify(store).ok
        assert open_store(store).n_samples == 3000
    else:
        with pytest.raises(MlfsError):
            open_store(store)
    ingest(table(), store.with_name("next.zarr"), overwrite=True)
    assert {path.name for path in store.parent.iterdir()} <= {store.name, "next.zarr"}


def check_kills(tmp_path, mode, n_kills, longest):
    outcomes = set()
    for i in range(n_kills):
        store = tmp_path / f"{i}.zarr" if mode == "new" else tmp_path / "t.zarr"
        finished = kill_at_random(store, mode, longest)
        outcomes.add(store.exists())
        check_after_kill(store, finished)
        if mode == "new":
            atomic.remove(store)
    return outcomes


def test_killed_writers_leave_no_half_store(tmp_path):
    check_kills(tmp_path, "new", 3, 0.3)
    check_kills(tmp_path, "force", 2, 0.6)


@pytest.mark.slow
def test_many_killed_writers(tmp_path):
    assert check_kills(tmp_path, "new", 60, 0.3) == {False, True}
    check_kills(tmp_path, "force", 60, 0.8)
