"""``mlfs list``: order, filter, damaged runs and runs that come and go."""

import json
import os
import shutil

import pytest

from mlfs_dask.jobs import lock


@pytest.fixture
def four(tiny_run, tmp_path):
    """Runs named b, d, c, a, from the oldest to the newest; c is interrupted, d the largest."""
    runs = tiny_run.path.parent
    for day, name in enumerate("bdca", start=1):
        shutil.copytree(tiny_run.path, runs / name)
        manifest = json.loads((runs / name / "manifest.json").read_bytes())
        manifest["created"] = f"2026-01-0{day}T00:00:00+00:00"
        (runs / name / "manifest.json").write_text(json.dumps(manifest))
    (runs / "d" / "log.txt").write_bytes(b"x" * 50_000)
    (runs / "b" / "log.txt").write_bytes(b"x" * 30_000)
    (runs / "a" / "log.txt").write_bytes(b"")
    state = json.loads((runs / "c" / "state.json").read_bytes())
    (runs / "c" / "state.json").write_text(json.dumps({**state, "state": "running"}))
    shutil.rmtree(tiny_run.path)
    return runs


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        ([], "acdb"),
        (["--reverse"], "bdca"),
        (["--sort", "name"], "abcd"),
        (["--sort", "name", "--reverse"], "dcba"),
        (["--sort", "size"], "dbca"),
        (["--sort", "size", "--reverse"], "acbd"),
        (["--sort", "state"], "cadb"),  # newest first among those that are done
        (["--sort", "state", "--reverse"], "adbc"),
        (["--state", "done"], "adb"),
        (["--state", "interrupted", "--state", "done", "--sort", "name"], "abcd"),
        (["--state", "failed"], ""),
    ],
)
def test_order(invoke, document, four, arguments, order):
    assert [item["run"] for item in document("list", *arguments)] == list(order)
    lines = invoke("list", *arguments).stdout.splitlines()
    if order:
        assert [line.split()[0] for line in lines[1:]] == list(order)
    else:
        assert lines == [f"None of the 4 runs in {four} is failed."]


def test_sizes_count_every_byte_once(document, four):
    for item in document("list"):
        files = [path for path in (four / item["run"]).rglob("*") if path.is_file()]
        assert item["bytes"] == sum(path.stat().st_size for path in files)


def test_links_count_as_links(document, four):
    before = {item["run"]: item["bytes"] for item in document("list")}
    (four / "a" / "loop").symlink_to(four)
    (four / "a" / "big").symlink_to(four / "d" / "log.txt")
    after = {item["run"]: item["bytes"] for item in document("list")}
    assert after["a"] - before["a"] < 1000
    assert (after["b"], after["c"], after["d"]) == (before["b"], before["c"], before["d"])


def test_a_run_whose_lock_is_held_is_running(document, four):
    with lock.hold(four / "c" / "lock"):
        assert document("list", "--sort", "state")[0]["state"] == "running"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.json", b"{"),
        ("state.json", b"\xff"),
        ("state.json", b'{"state": "dancing", "progress": {"done": 0, "total": 1}}'),
        ("manifest.json", b""),
        ("journal.jsonl", b"torn\nand more\n"),
        ("journal.jsonl", b'{"seq":1,"event":"start","check":"0123456789abcdef"}\n\n'),
    ],
)
def test_a_damaged_run_is_shown_as_such_and_hides_no_other(document, invoke, four, name, content):
    (four / "a" / name).write_bytes(content)
    found = {item["run"]: item for item in document("list")}
    assert {run: item["state"] for run, item in found.items()} == {
        "a": "damaged",
        "b": "done",
        "c": "interrupted",
        "d": "done",
    }
    assert name in found["a"]["message"]
    assert found["a"]["bytes"] > 0
    assert document("list", "--state", "damaged")[0]["run"] == "a"
    assert "damaged" in invoke("list").stdout


def test_a_torn_last_line_of_a_journal_is_no_damage(document, four):
    with (four / "a" / "journal.jsonl").open("ab") as file:
        file.write(b'{"seq":99,"ti')
    assert document("list", "--state", "damaged") == []


def test_files_that_cannot_be_read_are_no_end_of_the_list(document, four):
    (four / "a" / "journal.jsonl").unlink()
    (four / "a" / "journal.jsonl").mkdir()
    assert [i["run"] for i in document("list", "--state", "damaged")] == ["a"]


def test_a_run_removed_meanwhile_is_no_damaged_one(document, four, monkeypatch):
    from mlfs_dask.jobs.rundir import RunFolder

    real = RunFolder.read_state

    def gone(self):
        if self.id == "a":
            shutil.rmtree(self.path)
        return real(self)

    monkeypatch.setattr(RunFolder, "read_state", gone)
    assert [item["run"] for item in document("list")] == list("cdb")


def test_nothing_to_list(invoke, document, tmp_path):
    assert "There is no run in" in invoke("list").stdout
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "notes.txt").touch()
    (tmp_path / "runs" / "folder").mkdir()
    assert "`mlfs run JOB` starts one" in invoke("list").stdout
    assert document("list") == []
    assert document("list", "--runs", tmp_path / "runs" / "notes.txt") == []


def test_what_an_interrupted_removal_left_is_tidied_up_and_never_shown(document, four):
    os.rename(four / "a", four / ".removed-7-0123abcd")
    assert [item["run"] for item in document("list")] == list("cdb")
    assert not (four / ".removed-7-0123abcd").exists()


def test_wrong_words_are_refused(invoke, four):
    assert "time" in invoke("list", "--sort", "colour", code=2).stderr
    assert "interrupted" in invoke("list", "--state", "asleep", code=2).stderr
