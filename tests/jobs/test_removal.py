"""Runs taken away whole or not at all, whatever state they are in and whatever name is typed."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mlfs_dask.errors import MachineError, NotFoundError, RunFolderError
from mlfs_dask.jobs import lease, lock, removal
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.removal import clear_leftovers, remove_runs
from mlfs_dask.jobs.rundir import RunFolder, all_runs
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run, made once."""
    folder = tmp_path_factory.mktemp("once")
    store = make_tiny_store(folder / "stores")
    overrides = (
        "run.workers=0",
        "select=[]",
        "evaluate.split.repeats=1",
        f"data.store={store.path}",
    )
    job = parse_job(TINY_JOB.encode(), "tiny.toml", overrides)
    return run_job(Order(job=job, text=TINY_JOB.encode(), runs=folder / "runs")).folder.path


@pytest.fixture
def runs(finished, tmp_path):
    """A folder of three runs: one, two, two-2."""
    for name in ("one", "two", "two-2"):
        shutil.copytree(finished, tmp_path / "runs" / name)
    return tmp_path / "runs"


def ids(runs):
    return [run.id for run in all_runs(runs)]


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_by_id_by_beginning_and_by_path(runs, monkeypatch):
    assert [run.id for run in remove_runs(["on"], runs)] == ["one"]
    assert ids(runs) == ["two", "two-2"]
    remove_runs(["two"], runs)  # a whole id wins over being a beginning
    assert ids(runs) == ["two-2"]
    monkeypatch.chdir(runs.parent)
    remove_runs(["runs/two-2/"], Path("elsewhere"))
    assert everything(runs) == []


def test_the_default_folder_is_that_of_the_environment(runs):
    remove_runs(["one"])
    assert ids(runs) == ["two", "two-2"]


def test_a_run_named_by_the_folder_one_is_in(runs, monkeypatch):
    monkeypatch.chdir(runs / "one")
    assert [run.id for run in remove_runs(["."])] == ["one"]
    monkeypatch.chdir(runs / "two" / "units")
    assert [run.id for run in remove_runs([".."])] == ["two"]
    assert os.listdir(runs) == ["two-2"]


def test_one_run_named_twice_is_removed_once(runs):
    assert [run.id for run in remove_runs(["one", runs / "one", "o"], runs)] == ["one"]


@pytest.mark.parametrize("bad", ["three", "t", "", "*", "o*", "../runs", "/", "one/units", "."])
def test_all_names_are_looked_up_before_any_run_is_removed(runs, bad, monkeypatch):
    monkeypatch.chdir(runs.parent)
    before = everything(runs)
    with pytest.raises((NotFoundError, RunFolderError)):
        remove_runs(["one", bad], runs)
    assert everything(runs) == before


def test_force_passes_over_names_without_a_run_and_nothing_else(runs):
    remove_runs(["three", "one"], runs, force=True)
    assert ids(runs) == ["two", "two-2"]
    with pytest.raises(NotFoundError, match="2 runs begin with 't'"):
        remove_runs(["t"], runs, force=True)


def test_a_run_that_is_written_is_kept_and_its_writer_named(runs):
    with lock.hold(runs / "two" / "lock"):
        for force in (False, True):
            with pytest.raises(
                RunFolderError, match=f"two is being written by process {os.getpid()}"
            ):
                remove_runs(["one", "two"], runs, force=force)
    assert ids(runs) == ["one", "two", "two-2"]


def test_one_that_a_process_takes_up_in_between_is_kept(runs, monkeypatch):
    monkeypatch.setattr(lease, "refuse_owned", lambda run, path: None)
    with (
        lock.hold(runs / "two" / "lock"),
        pytest.raises(RunFolderError, match="being written"),
    ):
        remove_runs(["one", "two"], runs)
    assert ids(runs) == ["two", "two-2"]


@pytest.mark.parametrize(
    "lost",
    [
        ("manifest.json",),
        ("state.json",),
        ("journal.jsonl",),
        ("manifest.json", "state.json", "journal.jsonl"),
        ("lock",),
    ],
)
def test_a_run_that_lost_files_can_be_removed(runs, lost):
    for name in lost:
        (runs / "one" / name).unlink()
    remove_runs(["one"], runs)
    assert everything(runs)[0].startswith("two")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\x00", b'{"format": 9}', b"null"])
@pytest.mark.parametrize("name", ["manifest.json", "state.json", "journal.jsonl", "resolved.json"])
def test_a_run_with_damaged_files_can_be_removed(runs, name, content):
    (runs / "one" / name).write_bytes(content)
    remove_runs(["one"], runs)
    assert ids(runs) == ["two", "two-2"]


def test_a_run_with_flipped_bits_can_be_removed(runs):
    for path in (runs / "one").rglob("*"):
        if path.is_file() and path.stat().st_size:
            first, *rest = path.read_bytes()
            path.write_bytes(bytes([first ^ 4, *rest]))
    remove_runs(["one"], runs)
    assert ids(runs) == ["two", "two-2"]


def test_a_lock_that_is_no_file_holds_nothing(runs, tmp_path):
    (runs / "one" / "lock").unlink()
    (runs / "one" / "lock").mkdir()
    (runs / "two" / "lock").unlink()
    (tmp_path / "precious").write_text("kept")
    (runs / "two" / "lock").symlink_to(tmp_path / "precious")
    remove_runs(["one", "two"], runs)
    assert ids(runs) == ["two-2"]
    assert (tmp_path / "precious").read_text() == "kept"


def test_folders_of_other_programs_are_kept(runs, tmp_path, monkeypatch):
    """Browser extensions have a manifest.json, too."""
    monkeypatch.chdir(tmp_path)
    other = runs / "extension"
    (other / "src").mkdir(parents=True)
    (other / "manifest.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "job.toml").write_text("")
    before = everything(tmp_path)
    for name in ("extension", "exten", other, tmp_path, "runs", "job.toml"):
        with pytest.raises((RunFolderError, NotFoundError)):
            remove_runs([name], runs)
    assert everything(tmp_path) == before


def test_links_are_not_followed(runs, tmp_path):
    shutil.move(runs / "one", tmp_path / "far")
    (runs / "one").symlink_to(tmp_path / "far")
    before = everything(tmp_path)
    for name in ("one", runs / "one", f"{runs}/one/"):
        with pytest.raises(RunFolderError, match=r"is a symbolic link to .*far"):
            remove_runs([name], runs)
    assert everything(tmp_path) == before


def test_links_inside_a_run_are_removed_and_what_they_name_is_kept(runs, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kept.txt").touch()
    (runs / "one" / "link").symlink_to(tmp_path / "data")
    (runs / "one" / "units" / "loop").symlink_to(runs)
    remove_runs(["one"], runs)
    assert ids(runs) == ["two", "two-2"]
    assert (tmp_path / "data" / "kept.txt").exists()


def test_runs_in_a_folder_that_is_a_link(runs, tmp_path):
    (tmp_path / "short").symlink_to(runs)
    remove_runs(["one"], tmp_path / "short")
    assert ids(runs) == ["two", "two-2"]


def test_the_system_refuses_to_rename(runs, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "rename", refuse)
    before = everything(runs)
    with pytest.raises(MachineError, match=r"cannot remove the run .*one: Permission denied"):
        remove_runs(["one"], runs)
    assert everything(runs) == before


def test_the_system_refuses_to_open_the_lock(runs, monkeypatch):
    real = os.open

    def refuse(path, flags, *rest):
        if str(path).endswith("lock") and flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    before = everything(runs)
    with pytest.raises(MachineError, match="cannot lock"):
        remove_runs(["one"], runs)
    assert everything(runs) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_of_runs(runs):
    runs.chmod(0o555)
    try:
        with pytest.raises(MachineError, match="Permission denied"):
            remove_runs(["one"], runs)
        assert clear_leftovers(runs) == 0
    finally:
        runs.chmod(0o755)
    assert ids(runs) == ["one", "two", "two-2"]


KILLED = """
import os, signal, sys
from pathlib import Path
from mlfs_dask.jobs import removal
def killed(path):
    os.kill(os.getpid(), signal.SIGKILL)
removal._delete = killed
removal.remove_runs(["one"], Path(sys.argv[1]))
"""


def test_a_removal_killed_half_way_shows_no_run_and_is_finished_by_the_next(runs):
    done = subprocess.run([sys.executable, "-c", KILLED, str(runs)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(runs)) == 3
    assert ids(runs) == ["two", "two-2"]
    with pytest.raises(NotFoundError):
        remove_runs([".removed"], Path(runs))
    assert sorted(os.listdir(runs)) == ["two", "two-2"]


def test_leftovers_are_told_from_other_hidden_things(runs):
    for name in (".removed-7-0123abcd", ".removed-x", ".git", "removed-7-0123abcd"):
        (runs / name).mkdir()
    (runs / ".removed-8-0123abcd").symlink_to(runs / "one")
    assert clear_leftovers(runs) == 1
    assert (runs / "one" / "manifest.json").exists()
    assert len(os.listdir(runs)) == 7
    assert clear_leftovers(runs / "nowhere") == 0


def test_leftovers_that_stay_are_no_reason_to_fail(runs, monkeypatch):
    (runs / ".removed-7-0123abcd").mkdir()

    def refuse(path):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(removal, "_delete", refuse)
    assert clear_leftovers(runs) == 0


def test_two_removals_at_once(runs):
    """Each run is removed by exactly one of them; the other one is told."""
    outcomes = []

    def remove(name):
        try:
            outcomes.append([run.id for run in remove_runs([name], runs)])
        except (NotFoundError, RunFolderError, MachineError):
            outcomes.append([])

    for name in ("one", "two-2", "two"):
        threads = [threading.Thread(target=remove, args=(name,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcome for outcome in outcomes if outcome) == [["one"], ["two"], ["two-2"]]
    assert len(outcomes) == 12
    assert os.listdir(runs) == []


def test_a_lock_of_a_removed_run_is_not_taken_for_that_of_the_next(runs):
    """Who opened the lock file before it was removed gets the one that lies there now."""
    path = runs / "one" / "lock"
    real = fcntl.flock
    removed = []

    def removed_in_between(handle, operation):
        if not removed:
            removed.append(True)
            path.rename(path.with_name("old"))
        return real(handle, operation)

    fcntl.flock = removed_in_between
    try:
        with lock.hold(path):
            assert lock.holder(path)["pid"] == os.getpid()
            assert path.stat().st_size > 0
    finally:
        fcntl.flock = real
    assert removed


def test_a_lock_that_is_no_file_stops_nobody(tmp_path):
    os.mkfifo(tmp_path / "lock")
    assert lock.holder(tmp_path / "lock") is None
    with pytest.raises(MachineError, match="lock"), lock.hold(tmp_path / "lock"):
        pass


def test_who_only_asks_for_the_holder_stops_nobody(runs):
    """`mlfs logs -f` asks all the time, and asking takes the lock for a moment."""
    path = runs / "one" / "lock"
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    timer = threading.Timer(0.03, os.close, (handle,))
    timer.start()
    with lock.hold(path):
        timer.join()
    lease.refuse_owned(runs / "one", path)
    assert RunFolder(runs / "one").exists
