"""Speeds of a machine: kept, read, passed over if they say nothing about it."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from mlfs_dask.jobs.rates import (
    Machine,
    Rates,
    calibration_file,
    keep_rates,
    known_rates,
)


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "cache" / "calibration.json"
    monkeypatch.setenv("MLFS_CALIBRATION", str(path))
    return path


def test_what_was_measured_is_planned_by(file):
    rates = Rates(slower={"spec": 2.0, "": 3.0}, start_seconds=1.5)
    assert keep_rates(rates, "2026-01-02T03:04:05+00:00") == file
    known = known_rates()
    assert known.rates == rates
    assert (known.source, known.note) == ("calibrated 2026-01-02T03:04:05+00:00", "")
    assert known.rates.seconds("spec", 5.0) == 10.0
    assert known.rates.seconds("a plug-in", 5.0) == 15.0
    keep_rates(Rates(start_seconds=9.0), "2026-01-03T00:00:00+00:00")
    assert known_rates().rates.start_seconds == 9.0
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_calibrations_at_the_same_time_leave_one_of_them(file):
    with ThreadPoolExecutor(4) as pool:
        many = [Rates(start_seconds=1.0 + k) for k in range(40)]
        assert list(pool.map(lambda rates: keep_rates(rates, "2026-01-02"), many)) == [file] * 40
    assert known_rates().rates in many
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_without_a_file_the_rates_are_those_of_the_package(file):
    known = known_rates()
    assert known.rates == Rates()
    assert "mlfs doctor --calibrate" in known.source
    assert known.note == ""


def test_it_lies_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("MLFS_CALIBRATION", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert calibration_file() == tmp_path / "mlfs-dask" / "calibration.json"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: b"{", "cannot be read"),
        (lambda d: b"[]", "cannot be read"),
        (lambda d: json.dumps({**d, "rates": {"start_seconds": "?"}}).encode(), "cannot be read"),
        (lambda d: json.dumps({**d, "format": 7}).encode(), "has format 7"),
        (lambda d: json.dumps({**d, "version": "0.0.1"}).encode(), "was made by mlfs-dask 0.0.1"),
        (
            lambda d: json.dumps(
                {**d, "machine": msgspec.to_builtins(Machine("other", "abacus", 3))}
            ).encode(),
            r"is of another machine \(other, abacus, 3 cores\)",
        ),
        (
            lambda d: json.dumps({**d, "rates": {"slower": {"spec": -1.0}}}).encode(),
            "not positive",
        ),
        (lambda d: json.dumps({**d, "rates": {"task_seconds": 0.0}}).encode(), "not positive"),
        (
            lambda d: json.dumps({**d, "rates": {"slower": {"spec": 1e300}}}).encode(),
            "no machine has",
        ),
    ],
    ids=["cut", "list", "word", "format", "version", "machine", "negative", "zero", "huge"],
)
def test_a_file_that_says_nothing_about_this_machine_is_passed_over(file, change, why):
    keep_rates(Rates(start_seconds=9.0), "today")
    file.write_bytes(change(json.loads(file.read_bytes())))
    known = known_rates()
    assert known.rates == Rates()
    assert str(file) in known.note
    assert re.search(why, known.note)
    assert "passed over" in known.note
