"""``mlfs rm`` as typed; what may be removed is tested with `mlfs_dask.jobs.removal`."""

import os
import shutil

import pytest

from mlfs_dask.jobs import lock


@pytest.fixture
def runs(tiny_run):
    for name in ("one", "two"):
        shutil.copytree(tiny_run.path, tiny_run.path.parent / name)
    return tiny_run.path.parent


def test_several_at_once(invoke, document, runs, tiny_run):
    assert invoke("rm", "one", "tiny").stdout == f"removed one\nremoved {tiny_run.id}\n"
    assert document("rm", "two", "two") == {"removed": ["two"]}
    assert os.listdir(runs) == []
    assert "There is no run" in invoke("list").stdout


def test_nothing_is_removed_if_a_name_is_wrong(invoke, document, runs):
    told = invoke("rm", "one", "tow", code=2).stderr
    assert "no run is named 'tow'" in told
    assert len(os.listdir(runs)) == 3
    assert document("rm", "one", "tow", "--force") == {"removed": ["one"]}


def test_force_is_no_key_to_a_run_at_work(invoke, document, runs):
    with lock.hold(runs / "one" / "lock"):
        assert f"by process {os.getpid()} on" in invoke("rm", "one", code=2).stderr
        error = document("rm", "two", "one", "--force", code=2)["error"]
        assert (error["code"], error["facts"]["holder"]["pid"]) == ("run-folder", os.getpid())
    assert len(os.listdir(runs)) == 3


def test_damaged_runs(invoke, document, runs):
    (runs / "one" / "state.json").write_bytes(b"\x00")
    (runs / "two" / "journal.jsonl").write_bytes(b"x\ny\n")
    assert len(document("list", "--state", "damaged")) == 2
    invoke("rm", "one", "two")
    assert len(os.listdir(runs)) == 1


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/", "../x", "runs", "one/units", "one/state.json"]
)
def test_paths_that_are_no_runs(invoke, runs, name, monkeypatch):
    monkeypatch.chdir(runs.parent)
    (runs.parent.parent / "x").mkdir(exist_ok=True)
    invoke("rm", name, code=2)
    assert len(os.listdir(runs)) == 3


def test_a_name_is_needed(invoke, runs):
    assert "Missing argument" in invoke("rm", code=2).stderr


def test_refusal_of_the_system_has_exit_code_1(invoke, runs, monkeypatch):
    from pathlib import Path

    def refuse(self, target):
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "rename", refuse)
    assert "Read-only file system" in invoke("rm", "one", code=1).stderr
