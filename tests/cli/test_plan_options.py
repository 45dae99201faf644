"""``mlfs plan --scale`` and ``mlfs doctor --calibrate``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlfs_dask.cli import mlfs as main
from mlfs_dask.jobs import calibrate
from mlfs_dask.jobs.rates import Rates, known_rates
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    make_tiny_store(tmp_path / "stores")
    monkeypatch.setenv("MLFS_STORES", str(tmp_path / "stores"))
    monkeypatch.setenv("MLFS_CALIBRATION", str(tmp_path / "calibration.json"))
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    return str(job)


def invoke(*words, code=0):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def test_plan_says_how_selections_scale(tiny, tmp_path):
    where = ("--runs", tmp_path / "runs")
    shown = invoke("plan", tiny, "--scale", *where).stdout
    assert "bottleneck" in shown
    assert "10^8" in shown
    document = json.loads(invoke("plan", tiny, "--scale", "--json", *where).stdout)
    assert len(document["scale"]) == 2 * 6
    assert {"selector", "n_samples", "workers", "efficiency"} <= set(document["scale"][0])
    assert "scale" not in json.loads(invoke("plan", tiny, "--json", *where).stdout)


def test_a_job_without_selections_has_none_to_scale(tiny, tmp_path):
    where = ("--runs", tmp_path / "runs")
    selects, evaluation = TINY_JOB.index("[[select]]"), TINY_JOB.index("[evaluate]")
    Path(tiny).write_text(TINY_JOB[:selects] + TINY_JOB[evaluation:])
    assert "no selection to scale" in invoke("plan", tiny, "--scale", *where).stdout
    assert json.loads(invoke("plan", tiny, "--scale", "--json", *where).stdout)["scale"] == []


def test_what_calibration_finds_is_kept_and_planned_by(tiny, tmp_path, monkeypatch):
    rates = Rates(start_seconds=100.0)
    monkeypatch.setattr(calibrate, "calibrate", lambda tell: rates)
    found = json.loads(invoke("doctor", "--calibrate", "--json").stdout)
    assert found["file"] == str(tmp_path / "calibration.json")
    assert known_rates().rates == rates
    planned = json.loads(invoke("plan", tiny, "--json", "--runs", tmp_path / "runs").stdout)
    assert planned["seconds"] > 100
    assert planned["rates"].startswith("calibrated ")
    (tmp_path / "calibration.json").write_text("{")
    planned = json.loads(invoke("plan", tiny, "--json", "--runs", tmp_path / "runs").stdout)
    assert "passed over" in planned["warnings"][-1]


def test_nothing_is_measured_that_could_not_be_kept(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MLFS_CALIBRATION", str(tmp_path / "file" / "calibration.json"))
    monkeypatch.setattr(calibrate, "calibrate", lambda tell: pytest.fail("measured"))
    done = invoke("doctor", "--calibrate", code=1)
    assert "cannot keep the calibration in" in done.output


def test_a_calibration_is_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFS_CALIBRATION", str(tmp_path))
    monkeypatch.setattr(calibrate, "calibrate", lambda tell: pytest.fail("measured"))
    assert f"{tmp_path} is a folder" in invoke("doctor", "--calibrate", code=2).output


def test_calibration_is_of_this_machine(tiny):
    error = invoke("doctor", "--calibrate", "--scheduler", "tcp://127.0.0.1:1", code=2).output
    assert "measures this machine" in error


def test_what_does_not_fit_is_refused_with_what_would(tiny, tmp_path):
    words = ("plan", tiny, "--set", "run.memory_per_worker='10 MB'", "--runs", tmp_path / "runs")
    error = invoke(*words, code=2).output
    assert "a process needs about" in error
    assert "or more" in error
