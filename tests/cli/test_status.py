"""``mlfs status``: what is in hand, what failed, what went wrong, how it goes on."""

import json
import re
import shlex

from mlfs_dask.jobs import lock
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.rundir import RunFolder


def note(folder, event, **facts):
    with Journal(folder.journal) as journal:
        journal.append(event, **facts)


def fail(folder, number, **facts):
    note(
        folder,
        "failed",
        **{
            "unit": f"select-{number}",
            "what": f"select no. {number} on tiny",
            "worker": "here:1",
            "error": "ValueError",
            "message": "it broke",
            "hint": "mend it",
            "exit_code": 1,
            "traceback": "Traceback (most recent call last):\n  there\n",
            **facts,
        },
    )


def test_a_finished_run(invoke, document, tiny_run):
    text = invoke("status", "tiny").stdout
    assert "done, 17 of 17 units" in text
    assert "hamming_loss" in text
    assert "go on" not in text
    found = document("status", "tiny")
    assert (found["go_on"], found["in_hand"], found["failures"]) == (None, [], [])
    assert found["results"]["state"] == "done"
    assert f"{tiny_run.id}: no unit failed" in invoke("status", "tiny", "--failed").stdout


def test_a_run_that_was_killed(invoke, document, cut_run):
    text = invoke("status", "tiny").stdout
    assert "interrupted, 2 of 17 units" in text
    assert "in hand: select mllap on tiny, repeat 0, fold 0: 8 decisions, last 'f5', at 20" in text
    assert text.endswith(f"go on with: mlfs resume {cut_run.id} --runs {cut_run.path.parent}\n")
    found = document("status", cut_run.path)
    assert found["go_on"] == f"mlfs resume {cut_run.id} --runs {cut_run.path.parent}"
    (item,) = found["in_hand"]
    assert (item["decided"], item["last"]["feature"]) == (8, 5)
    assert found["results"] is None


def test_a_run_at_work_names_who_works(invoke, document, cut_run):
    with lock.hold(cut_run.lock):
        text = invoke("status", "tiny").stdout
        assert document("status", "tiny")["go_on"] is None
    assert "running by process" in text
    assert "in hand" in text
    assert "go on with" not in text


def test_commands_to_be_copied_name_the_folder_of_runs(invoke, cut_run):
    elsewhere = cut_run.path.parent.rename(cut_run.path.parent.with_name("other runs"))
    moved = RunFolder(elsewhere / cut_run.id)
    with lock.hold(moved.lock):
        busy = invoke("resume", cut_run.id, "--runs", elsewhere, code=2).stderr
        [command] = re.findall(r"Wait for it \(`mlfs (.+?)`\)", busy)
        assert f"{cut_run.id}: running by process" in invoke(*shlex.split(command)).stdout
        said = invoke("cancel", cut_run.id, "--runs", elsewhere).stdout
        [command] = re.findall(r"`mlfs (.+?)` shows when it has", said)
        assert f"{cut_run.id}: running by process" in invoke(*shlex.split(command)).stdout


def test_failures_with_and_without_tracebacks(invoke, document, cut_run):
    for number in range(12):
        fail(cut_run, number)
    note(cut_run, "unit", unit="select-0", bytes=0, sha256="")  # done after all
    text = invoke("status", "tiny").stdout
    assert text.count("it broke") == 10
    assert "... and 1 more, see --json" in text
    assert "there" not in text
    [command] = re.findall(r"`mlfs (status \S+ --failed .+)` has the tracebacks", text)
    told = invoke(*shlex.split(command)).stdout
    assert told.count("Traceback") == 11
    assert told.count("mend it") == 11
    failures = document("status", "tiny")["failures"]
    assert [item["unit"] for item in failures] == [f"select-{i}" for i in range(1, 12)]
    assert failures[0]["traceback"].endswith("there\n")


def test_incidents_once_each(invoke, document, cut_run):
    for message in ("a worker was lost", "label 3 is constant", "a worker was lost"):
        note(cut_run, "incident", message=message)
    assert invoke("status", "tiny").stdout.count("a worker was lost") == 1
    found = document("status", "tiny")["incidents"]
    assert [item["message"] for item in found] == ["a worker was lost", "label 3 is constant"]
    assert found[0]["time"] >= found[1]["time"]


def test_names_of_units_where_the_job_cannot_be_read(invoke, cut_run):
    cut_run.resolved.write_text("{}")
    assert "in hand: select-" in invoke("status", "tiny").stdout


def test_damage_is_named_before_anything_is_printed(invoke, tiny_run):
    tiny_run.journal.write_bytes(b"?\n" + tiny_run.journal.read_bytes())
    result = invoke("status", "tiny", code=2)
    assert "journal.jsonl:1" in result.stderr
    assert result.stdout == ""


def test_a_failed_run_keeps_its_message(invoke, cut_run):
    state = json.loads(cut_run.state.read_bytes())
    cut_run.state.write_text(json.dumps({**state, "state": "failed", "message": "disk full"}))
    text = invoke("status", "tiny").stdout
    assert "disk full" in text
    assert "go on with: mlfs resume" in text
