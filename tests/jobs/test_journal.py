"""The journal: torn ends are dropped, anything else that changed is refused."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import MachineError, RunFolderError
from mlfs_dask.jobs.journal import Journal, read_journal


def write(path, count=3):
    with Journal(path) as journal:
        for number in range(count):
            journal.append("unit", unit=f"u{number}", name="mörk ✓")


def test_events_come_back_in_order_and_go_on(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path)
    seen = []
    with Journal(path, seen.append) as journal:
        assert [event["unit"] for event in seen] == ["u0", "u1", "u2"]
        journal.append("finish", state="done")
    events, size = read_journal(path)
    assert events[-1]["state"] == "done"
    assert size == path.stat().st_size
    assert [json.loads(line)["seq"] for line in path.read_text().splitlines()] == [1, 2, 3, 4]


@given(cut=st.integers(min_value=1, max_value=120))
def test_a_torn_last_line_is_dropped_and_written_over(cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write(path)
    data = path.read_bytes()
    last = len(data.splitlines(keepends=True)[-1])
    path.write_bytes(data[: len(data) - min(cut, last - 1)])
    seen = []
    with Journal(path, seen.append) as journal:
        assert len(seen) == 2
        journal.append("unit", unit="again")
    assert [event["unit"] for event in read_journal(path)[0]] == ["u0", "u1", "again"]


@given(data=st.data())
def test_a_changed_byte_elsewhere_is_refused(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write(path)
    content = bytearray(path.read_bytes())
    before_last = len(b"".join(bytes(content).splitlines(keepends=True)[:-1])) - 1
    position = data.draw(st.integers(0, before_last - 1))
    content[position] ^= data.draw(st.sampled_from([1, 2, 64]))
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"journal\.jsonl:[12]"):
        read_journal(path)


def test_a_lost_line_is_refused(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    # The lost line leaves line 2 out of sequence; as the last line it counts as torn.
    assert len(read_journal(path)[0]) == 1
    path.write_bytes(lines[1] + lines[2])
    with pytest.raises(RunFolderError):
        read_journal(path)


def test_lines_are_synced_in_time_without_another_event(tmp_path, monkeypatch):
    synced = threading.Event()
    monkeypatch.setattr("mlfs_dask.jobs.lines.sync_file", lambda path: synced.set())
    with Journal(tmp_path / "journal.jsonl", batch_seconds=0.05) as journal:
        journal.append("unit", unit="u")
        assert synced.wait(timeout=30)


def test_a_long_step_is_synced_at_once(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("mlfs_dask.jobs.lines.sync_file", synced.append)
    with Journal(tmp_path / "journal.jsonl", batch_seconds=1e6) as journal:
        journal.append("unit", unit="short", seconds=0.1)
        assert not synced
        journal.append("unit", unit="long", seconds=2e6)
        assert len(synced) == 1


def test_a_full_disk_is_told(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal._lines._file.close()
        journal._lines._file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115  closed by the journal
        with pytest.raises(MachineError, match="No space left"):
            journal.append("unit", unit="u")
        with pytest.raises(MachineError, match="No space left"):
            journal.append("unit", unit="never written behind a torn line")
