"""``mlfs resume``: runs taken up from their folder alone."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from mlfs_dask.jobs import lock
from mlfs_dask.jobs.results import open_run


def units_run(folder):
    return [event["unit"] for event in open_run(folder.path).events if event["event"] == "unit"]


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(invoke, cut_run, once):
    done_before = units_run(cut_run)
    result = invoke("resume", cut_run.id)
    assert "15 of 17 units to do" in result.stderr
    assert "hamming_loss" in result.stdout
    assert f"report:  {cut_run.report}" in result.stdout
    assert cut_run.report.stat().st_size > 5000
    for name in ("results.json", "evaluation.csv"):
        assert (cut_run.path / name).read_bytes() == (once / name).read_bytes()
    assert units_run(cut_run)[:2] == done_before
    assert len(units_run(cut_run)) == len(set(units_run(cut_run))) == 17


def test_a_finished_run_says_so_and_does_no_work(invoke, document, tiny_run):
    invoke("resume", "tiny")  # writes the report, which the run alone does not
    before = {p: p.stat().st_mtime_ns for p in tiny_run.path.rglob("*")}
    result = invoke("resume", "tiny")
    assert f"{tiny_run.id} was finished before; there is nothing left to do." in result.stdout
    assert document("resume", "tiny", "--retry-failed")["already_finished"] is True
    assert {p: p.stat().st_mtime_ns for p in tiny_run.path.rglob("*")} == before


def test_json_is_that_of_run(document, cut_run):
    found = document("resume", cut_run.path, "--workers", "0")
    assert (found["run"], found["state"]) == (cut_run.id, "done")
    assert (found["already_finished"], found["failed"]) == (False, [])
    assert len(found["points"]) == 7


def test_failed_units_are_tried_again_on_demand_only(invoke, document, cut_run, monkeypatch):
    from mlfs_dask.selectors.mllap import MLLAP

    tried = []

    def broken(self):
        tried.append(1)
        raise ArithmeticError("it broke")

    with monkeypatch.context() as patch:
        patch.setattr(MLLAP, "selection_record", broken)
        first = invoke("resume", "tiny", code=1)
        assert len(tried) == 4
        assert "7 units of" in first.stderr
        way_on = f"mlfs resume {cut_run.id} --retry-failed --runs {cut_run.path.parent}"
        assert way_on in first.stderr
        again = document("resume", "tiny", code=1)
        assert again["error"]["facts"]["failed"] == len(again["failed"]) == 7
        assert (again["state"], again["error"]["exit_code"]) == ("partial", 1)
        assert len(tried) == 4
    found = document("status", "tiny")
    assert (found["state"], found["failed"]) == ("partial", 7)
    assert invoke("status", "tiny").stdout.endswith(f"go on with: {way_on}\n")
    assert document("resume", "tiny", "--retry-failed")["state"] == "done"
    assert document("status", "tiny")["failures"] == []


def test_one_that_another_process_runs_is_left_to_it(invoke, cut_run):
    before = cut_run.journal.read_bytes()
    with lock.hold(cut_run.lock):
        told = invoke("resume", "tiny", code=2).stderr
    assert "is being written by process" in told
    assert cut_run.journal.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("manifest.json", b"{}", "manifest.json"),
        ("state.json", b"[]", "state.json"),
        ("resolved.json", b'{"name": 3}', "resolved.json"),
        ("resolved.json", None, "resolved.json is missing"),
        ("journal.jsonl", b"{}\n{}\n", "journal.jsonl:1"),
    ],
)
def test_what_is_damaged_is_named(invoke, cut_run, name, content, told):
    if content is None:
        (cut_run.path / name).unlink()
    else:
        (cut_run.path / name).write_bytes(content)
    assert told in invoke("resume", "tiny", code=2).stderr


def test_results_that_were_changed_are_no_finished_run(invoke, tiny_run):
    invoke("resume", "tiny")
    tiny_run.evaluation.write_bytes(tiny_run.evaluation.read_bytes()[:-1])
    assert "evaluation.csv was changed" in invoke("resume", "tiny", code=2).stderr


def test_names_other_than_those_of_the_store_are_refused(invoke, cut_run):
    names = json.loads(cut_run.datasets.read_bytes())
    names["tiny"]["features"][0] += "x"
    cut_run.datasets.write_text(json.dumps(names))
    assert "datasets.json does not hold" in invoke("resume", "tiny", code=2).stderr


def test_a_renamed_run_goes_on_as_often_as_it_must(invoke, cut_run, once):
    renamed = cut_run.path.rename(cut_run.path.with_name("mine"))
    invoke("resume", "mine")
    for _ in range(2):
        (renamed / "state.json").unlink()
        invoke("resume", "mine")
        for name in ("results.json", "evaluation.csv"):
            assert (renamed / name).read_bytes() == (once / name).read_bytes()


def test_a_lost_folder_of_units_is_made_again(invoke, cut_run, once):
    shutil.rmtree(cut_run.units)
    invoke("resume", "tiny")
    assert cut_run.results.read_bytes() == (once / "results.json").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_is_a_fault_of_the_machine(invoke, cut_run, capfd):
    cut_run.log.unlink(missing_ok=True)
    cut_run.log.symlink_to("/dev/full")
    assert "cannot write the log" in invoke("resume", "tiny", code=1).stderr
    assert "Logging error" not in capfd.readouterr().err


def test_a_journal_of_another_run_is_refused(invoke, cut_run):
    manifest = json.loads(cut_run.manifest.read_bytes())
    cut_run.manifest.write_text(json.dumps({**manifest, "run": "other-0123456789"}))
    told = invoke("resume", "tiny", code=2).stderr
    assert "is the journal of another run" in told


def test_another_store_in_its_place_is_refused(invoke, cut_run, tmp_path):
    from mlfs_dask.testing.jobs import make_tiny_store

    manifest = json.loads(cut_run.manifest.read_bytes())
    manifest["datasets"][0]["path"] = make_tiny_store(tmp_path / "stores", seed=9).path
    cut_run.manifest.write_text(json.dumps(manifest))
    assert "digest of tiny" in invoke("resume", "tiny", code=2).stderr


def test_a_fault_of_the_machine_names_the_command_that_goes_on(invoke, cut_run, monkeypatch):
    def full(self, unit, payload):
        from mlfs_dask.errors import MachineError

        raise MachineError("the disk is full", hint="Free some space.")

    monkeypatch.setattr("mlfs_dask.jobs.rundir.RunFolder.write_unit", full)
    told = invoke("resume", "tiny", code=1).stderr
    assert f"Free some space. Go on with: mlfs resume {cut_run.id} --runs" in told


def test_a_second_ctrl_c_names_it_too(invoke, cut_run, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mlfs_dask.jobs.coordinator.resume_run", stopped)
    told = invoke("resume", "tiny", "--retry-failed", code=1).stderr
    assert f"Go on with: mlfs resume {cut_run.id} --retry-failed --runs" in told
    shutil.rmtree(cut_run.path)
    assert "no run is named 'tiny'" in invoke("resume", "tiny", code=2).stderr


def test_a_run_that_was_moved_goes_on(document, cut_run, tmp_path, once):
    cut_run.path.rename(tmp_path / "elsewhere")
    assert document("resume", tmp_path / "elsewhere")["state"] == "done"
    assert (tmp_path / "elsewhere" / "evaluation.csv").read_bytes() == (
        once / "evaluation.csv"
    ).read_bytes()


def test_two_at_once(cut_run, once):
    """One does the work; the other is told who does, or that it is done."""
    command = [sys.executable, "-m", "mlfs_dask", "resume", str(cut_run.path), "--workers", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=dict(os.environ), **pipes) for _ in range(2)]
    said = ["".join(process.communicate(timeout=120)) for process in processes]
    assert sorted(process.returncode for process in processes) in ([0, 0], [0, 2])
    for process, words in zip(processes, said, strict=True):
        assert process.returncode == 0 or "is being written by process" in words
    assert len(units_run(cut_run)) == 17
    assert cut_run.results.read_bytes() == (once / "results.json").read_bytes()
