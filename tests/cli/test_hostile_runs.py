"""Run folders that were tampered with, job files that no parser likes, readers that hang up."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mlfs_dask.cli import mlfs
from mlfs_dask.cli.progress import UntilHungUp
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture
def job(tmp_path):
    make_tiny_store(tmp_path / "stores")
    path = tmp_path / "tiny.toml"
    path.write_bytes(TINY_JOB if isinstance(TINY_JOB, bytes) else TINY_JOB.encode())
    return path


@pytest.fixture
def run(job):
    text = job.read_bytes()
    return run_job(Order(job=parse_job(text, "tiny.toml"), text=text)).folder


def mlfs_exits(*arguments):
    """Exit code and message of a command; anything but our own errors is raised."""
    done = subprocess.run(
        [sys.executable, "-m", "mlfs_dask", *map(str, arguments)], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.json", '{"state": 3}'),
        ("state.json", "[1, 2]"),
        ("manifest.json", "[]"),
        ("manifest.json", '{"format": 9}'),
        ("resolved.json", "{}"),
        ("datasets.json", "{}"),
        ("results.json", "{}"),
        ("evaluation.csv", "dataset,selector\n1"),
        ("evaluation.csv", "\udcff\udcfe"),
    ],
)
def test_a_file_of_the_wrong_shape_is_named(run, name, content):
    (run.path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    code, told = mlfs_exits("status", run.path)
    assert code == 2
    assert name in told
    code, told = mlfs_exits("list")
    assert code == 0
    assert run.id in told
    assert ("damaged" in told) == (name in ("state.json", "manifest.json"))


def test_times_without_what_a_report_shows_are_named(run):
    run.timings.write_bytes(run.timings.read_bytes().replace(b'"worker"', b'"vorker"', 1))
    code, told = mlfs_exits("report", run.path)
    assert code == 2
    assert "timings.json" in told


@pytest.mark.parametrize("name", ["resolved.json", "datasets.json"])
def test_names_and_parameters_are_those_of_the_run(run, name):
    path = run.path / name
    changed = path.read_bytes().replace(b'"f1"', b'"f9"').replace(b"mllap", b"mlIap")
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    code, told = mlfs_exits("status", run.path)
    assert code == 2
    assert f"{name} was changed" in told


@pytest.mark.parametrize("name", ["results.json", "evaluation.csv"])
def test_a_changed_digit_in_results_is_found_and_can_be_mended(run, job, name):
    path = run.path / name
    written = path.read_bytes()
    at = next(i for i, byte in enumerate(written[200:], start=200) if byte in b"123")
    path.write_bytes(written[:at] + b"9" + written[at + 1 :])
    code, told = mlfs_exits("status", run.path)
    assert code == 2
    assert f"{name} was changed" in told
    run.state.unlink()  # as the message says
    assert mlfs_exits("run", job)[0] == 0
    assert path.read_bytes() == written


@pytest.mark.parametrize("command", ["status", "logs", "cancel", "rm", "resume", "report"])
@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "a\0b", "\x1b[2J", "-", "*", "run; ls"])
def test_names_that_no_run_can_have(tmp_path, command, name):
    done = CliRunner().invoke(mlfs, [command, "--", name])
    assert done.exit_code == 2
    assert "no run is named" in done.stderr
    assert len(done.stderr) < 400
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_units_are_counted_where_the_writer_died(run):
    state = json.loads(run.state.read_text())
    total = state["progress"]["total"]
    run.state.write_text(
        json.dumps({**state, "state": "running", "progress": {"done": 1, "total": total}})
    )
    assert run.read_state()["progress"]["done"] == total


@pytest.mark.parametrize(
    ("addition", "told"),
    [
        ("seed = " + "9" * 5000, "not TOML"),
        ("a = " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
        ('name = "a\\n"', "name"),
        ('"" = 1', '"": unknown key'),
        ("[evaluate]\nsplit = { folds = 1000000000000 }", "evaluate.split.folds"),
        ("[evaluate]\nsplit = { folds = 999999 }", "999999"),
        ("[evaluate]\nsplit = { repeats = 1000000000000 }", "evaluate.split.repeats"),
    ],
)
def test_job_files_that_no_parser_likes(job, tmp_path, addition, told):
    head = "schema = 1\n" + ("" if addition.startswith("name") else 'name = "x"\n')
    table = '[data]\nstore = "tiny"\n[[select]]\nmethod = "spec"\n'
    text = head + addition + "\n" + table if addition[0] != "[" else head + table + addition
    if addition[0] == "[":
        text += '\nfeatures = { fractions = [1.0] }\n[[evaluate.classifier]]\nmethod = "mlknn"\n'
    (tmp_path / "bad.toml").write_text(text)
    code, shown = mlfs_exits("plan", tmp_path / "bad.toml")
    assert code == 2
    assert told in shown
    assert len(shown) < 5000


@pytest.mark.parametrize(
    "override",
    ["seed=" + "9" * 5000, "a=" + "[" * 20_000, "select.².phi=1", "select.٠.phi=1", "seed=1\nx=2"],
)
def test_overrides_that_are_none(job, override):
    result = CliRunner().invoke(mlfs, ["plan", str(job), "--set", override])
    assert result.exception is not None
    assert getattr(result.exception, "exit_code", getattr(result.exception, "code", None)) == 2


def test_a_byte_order_mark_is_passed_over(job):
    text = b"\xef\xbb\xbf" + job.read_bytes()
    assert parse_job(text, "tiny.toml") == parse_job(job.read_bytes(), "tiny.toml")


def test_the_name_of_a_store_may_not_be_endless(job):
    code, told = mlfs_exits("plan", job, "--set", f'data.store="{"a" * 9000}"')
    assert code == 2
    assert len(told) < 1000


def test_a_run_goes_on_when_nobody_reads_its_progress():
    class HangsUp:
        told = 0

        def start(self, run, *, done, total, where):
            pass

        def step(self, steps):
            pass

        def unit(self, outcome):
            self.told += 1
            raise BrokenPipeError

        def end(self, state):
            self.told += 100

    shown = HangsUp()
    progress = UntilHungUp(shown)
    progress.start("r", done=0, total=2, where="here")
    progress.unit(None)
    progress.unit(None)
    progress.end("done")
    assert shown.told == 1


def test_a_closed_stderr_does_not_stop_a_run(job, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mlfs_dask", "run", str(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, check=False)
    os.close(writing)
    assert done.returncode == 0
    assert list((tmp_path / "runs").glob("*/results.json"))
