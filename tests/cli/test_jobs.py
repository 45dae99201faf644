"""The commands around jobs, as users type them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlfs_dask.jobs.driver import Driver
from mlfs_dask.storage.synth import synthesize
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

COMMANDS = (
    *("run", "plan", "list", "status", "report", "methods", "init"),
    *("resume", "cancel", "rm", "logs"),
)


@pytest.fixture
def job(tmp_path):
    make_tiny_store(tmp_path / "stores")
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_JOB)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_on_lines_of_its_own(invoke, command):
    text = invoke(command, "--help").output
    assert f"Example:\n    mlfs {command}" in text


def test_run_shows_a_table_and_where_the_report_is(invoke, job, tmp_path):
    result = invoke("run", job)
    assert "selector" in result.stdout
    assert "hamming_loss" in result.stdout
    folder = next((tmp_path / "runs").iterdir())
    assert f"report:  {folder / 'report.html'}" in result.stdout
    assert (folder / "report.html").stat().st_size > 5000
    again = invoke("run", job)
    assert "was finished before" in again.stdout
    (folder / "report.html").unlink()
    invoke("run", job)
    assert (folder / "report.html").is_file()


def test_run_as_json(document, job):
    first = document("run", job, "--set", "seed=5")
    assert first["state"] == "done"
    assert not first["already_finished"]
    assert Path(first["report"]).is_file()
    point = first["points"][0]
    assert point["means"]["hamming_loss"]["folds"] == 6
    assert document("run", job, "--set", "seed=5")["already_finished"]
    assert document("run", job, "--set", "seed=5", "--force")["run"] == first["run"] + "-2"


def test_the_quickstart_says_how_many_planted_features_were_found(invoke, document, tmp_path):
    synthesize(tmp_path / "stores" / "quickstart.zarr")
    result = invoke("run", "quickstart", "--workers", "0")
    assert "relevant in the top 12" in result.stdout
    planted = document("run", "quickstart", "--workers", "0")["planted"]
    assert [p["relevant"] for p in planted] == [12, 12, 12]
    assert min(p["found"] for p in planted) >= 9


def test_init_writes_a_job_that_runs(invoke, document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    synthesize(tmp_path / "stores" / "quickstart.zarr")
    invoke("init", "mine.toml")
    assert document("run", "mine.toml")["state"] == "done"
    refused = invoke("init", "mine.toml", code=2)
    assert "exists already" in refused.stderr
    invoke("init", "mine.toml", "--force")
    assert document("init")["file"] == str(tmp_path / "job.toml")


def test_files_go_into_folders_that_are_made(invoke, tiny_run, tmp_path):
    wanted = tmp_path / "not there" / "my job.toml"
    said = invoke("init", wanted).stdout
    assert f"`mlfs run '{wanted}'`" in said
    page = tmp_path / "nor that" / "a b.html"
    invoke("report", tiny_run.path, "-o", page)
    assert page.is_file()
    for command in (("init", wanted / "x"), ("report", tiny_run.path, "-o", page / "x")):
        refused = invoke(*command, code=2)
        assert "cannot be a folder: a part of this path is a file" in refused.stderr


def test_plan_computes_nothing(invoke, document, job, tmp_path):
    text = invoke("plan", job).stdout
    assert "14 selections, 18 curves" in text
    planned = document("plan", job, "--workers", "2")
    assert planned["workers"] == 2
    assert planned["state"] is None
    assert not (tmp_path / "runs").exists()
    invoke("run", job)
    assert document("plan", job)["state"] == "done"


def test_plan_tells_files_sweeps_cells_and_costs(invoke, document, job, tmp_path):
    (job.parent / "costs.csv").write_text("".join(f"f{i},{i}\n" for i in range(8)))
    keys = (
        *("data.costs=costs.csv", "data.missing.rate=0.05", "data.impute=mean"),
        "sweep.select.0.phi=[1, 3]",
    )
    sets = [word for key in keys for word in ("--set", key)]
    text = invoke("plan", job, *sets).stdout
    for part in (
        "missing 0.05 of the cells, drawn by row",
        "costs   costs.csv",
        f"file    {job.parent / 'costs.csv'} (40 bytes, data.costs)",
        "sweep   2 points of select.0",
    ):
        assert part in text, text
    planned = document("plan", job, *sets)
    assert (planned["missing_rate"], planned["sweep"]) == (0.05, {"select.0": 2})
    assert [file["key"] for file in planned["files"]] == ["data.costs"]


def test_list_and_status(invoke, document, job):
    assert "no run in" in invoke("list").stdout
    run = document("run", job)["run"]
    listed = document("list")
    assert [(item["run"], item["state"], item["done"]) for item in listed] == [(run, "done", 32)]
    assert run in invoke("list").stdout
    assert "done, 32 of 32 units" in invoke("status", "tiny").stdout
    assert document("status", run)["state"] == "done"
    assert document("status", "ti")["results"]["planted"] == []
    assert document("status", "other", code=2)["error"]["code"] == "not-found"


def test_report_of_several_runs(invoke, document, job, tmp_path):
    invoke("run", job)
    invoke("run", job, "--set", "name=second")
    target = tmp_path / "both.html"
    assert document("report", "tiny", "second", "-o", target)["report"] == str(target)
    assert target.read_text().count("<h1>") == 3  # the comparison first


def test_methods(invoke, document):
    listed = document("methods")
    assert {"selectors", "classifiers", "metrics", "tests"} == set(listed)
    assert {"spec", "mllap"} <= {m["name"] for m in listed["selectors"]}
    assert all(m["summary"] for group in listed.values() for m in group)
    assert "hamming_loss" in invoke("methods", "metrics").stdout
    spec = document("methods", "selectors", "spec")
    similarity = next(p for p in spec["parameters"] if p["name"] == "similarity")
    assert similarity["default"] == "jaccard"
    assert "similarity" in invoke("methods", "selectors", "spec").stdout
    assert document("methods", "spec") == spec  # the name alone, if it is of one kind
    assert "mlfs methods classifiers mlnb" in invoke("methods", "mlnb", code=2).stderr
    assert "'spek': expected one of 'selectors'" in invoke("methods", "spek", code=2).stderr
    brknn = document("methods", "classifiers", "brknn")
    assert next(p for p in brknn["parameters"] if p["name"] == "ties")["default"] is None
    assert brknn["measured"]["sklearn"]["coverage, others"] == "rank"
    assert brknn["measured"]["mulan"]["one error, Y empty"] == "1"
    shown = invoke("methods", "classifiers", "brknn").stdout
    for name in ("default", "mulan", "zhang", "sklearn"):
        assert f"- ``{name}``:" in shown
    assert "How measures decide special cases" in shown
    assert "mean over rows" in json.dumps(document("methods", "metrics", "hamming_loss"))
    assert {"friedman", "nemenyi"} <= {m["name"] for m in listed["tests"]}
    assert document("methods", "tests", "bonferroni-dunn")["control"] == "needed"
    assert "range of k normal variables" in invoke("methods", "tests", "nemenyi").stdout
    assert "Did you mean 'holm'?" in invoke("methods", "tests", "hollm", code=2).stderr
    wrong = invoke("methods", "selectors", "spek", code=2)
    assert "Did you mean 'spec'?" in wrong.stderr


def test_all_problems_of_a_job_file_come_at_once(invoke, document, job):
    job.write_text(TINY_JOB.replace("seed = 3", "sed = 3").replace("phi = 2", "phi = 9"))
    result = invoke("run", job, code=2)
    assert "2 problems" in result.stderr
    assert "sed: unknown key; did you mean 'seed'?" in result.stderr
    assert "select.0.phi" in result.stderr
    error = document("plan", job, code=2)["error"]
    assert (error["code"], len(error["facts"]["problems"])) == ("job-file", 2)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "nowhere.toml"), 2),
        (("run",), 2),
        (("run", "quickstart", "--set", "data.store=nowhere"), 2),
        (("run", "quickstart", "--workers", "-1"), 2),
        (("report", "nowhere"), 2),
    ],
)
def test_what_users_can_correct_has_exit_code_2(invoke, arguments, code):
    invoke(*arguments, code=code)


def test_a_method_that_refuses_the_data_is_the_users_to_correct(invoke, document, tmp_path):
    import numpy as np

    from mlfs_dask.storage.ingest import ingest
    from mlfs_dask.testing.jobs import tiny_table
    from mlfs_dask.testing.tables import ArrayTable

    table = tiny_table()
    X = table._X.copy()
    X[0, 0] = np.nan
    (tmp_path / "stores").mkdir()
    ingest(ArrayTable(X, table._Y), tmp_path / "stores" / "tiny.zarr", tile=16, name="tiny")
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    result = invoke("run", job, code=2)
    assert "2 problems" in result.stderr
    said = "select.0: 'SPEC' has no rule for missing values, and tiny has 1, the first in feature 0"
    assert said in result.stderr
    assert 'impute = "mean"' in result.stderr
    assert said in invoke("plan", job, code=2).stderr
    assert not (tmp_path / "runs").exists()
    assert document("run", job, "--set", "data.impute=mean")["state"] == "done"


def test_categories_are_refused_before_anything_is_computed(invoke, tmp_path):
    """By plan as by run: by the prefilter that sees them, the selector and the classifier."""
    import numpy as np

    from mlfs_dask.storage.ingest import ingest
    from mlfs_dask.testing.jobs import tiny_table
    from mlfs_dask.testing.tables import ArrayTable

    table = tiny_table()
    X = table._X.copy()
    X[:, 1], X[:, 4] = np.arange(len(X)) % 2, np.arange(len(X)) % 3
    (tmp_path / "stores").mkdir()
    store = tmp_path / "stores" / "tiny.zarr"
    categories = {1: ("a", "b"), 4: ("a", "b", "c")}
    ingest(ArrayTable(X, table._Y, categories=categories), store, tile=16, name="tiny")
    job = tmp_path / "tiny.toml"
    naive = TINY_JOB.replace('"spec"\nlabel = "SPEC"\nphi = 2', '"mlnb"').replace(
        '"mlknn"\nn_neighbors = 3', '"mlnb"'
    )
    job.write_text(naive)
    for command in ("plan", "run"):
        said = invoke(command, job, code=2).stderr
        assert "2 problems" in said
        for place in ("select.0", "evaluate.classifier.0"):
            assert f"{place}: 'mlnb' takes numbers and two-valued features, and tiny has" in said
        assert "nominal feature 4 ('f4') of more than two values" in said
    fewer = "select.0.prefilter={ method = 'mllap', n = 2 }"
    invoke("plan", job, "--set", fewer, "--set", "evaluate.baseline=false")


def test_a_failing_unit_has_exit_code_1_and_the_command_to_go_on(
    invoke, document, job, monkeypatch
):
    from mlfs_dask.selectors.mllap import MLLAP

    def broken(self):
        raise ArithmeticError("it broke")

    monkeypatch.setattr(MLLAP, "selection_record", broken)
    result = invoke("run", job, code=1)
    assert "13 units" in result.stderr
    assert "it broke" in result.stderr
    status = document("status", "tiny")
    assert f"mlfs resume {status['run']} --retry-failed --runs " in result.stderr
    assert (status["state"], status["failed"]) == ("partial", 13)


def test_a_run_that_did_nothing_has_failed(invoke, document, job, tmp_path, monkeypatch):
    """Its store is lost when it has just begun: one error, not one for each unit."""
    begin = Driver.run

    def lost(self, plan):
        (tmp_path / "stores").rename(tmp_path / "elsewhere")
        return begin(self, plan)

    with monkeypatch.context() as patch:
        patch.setattr(Driver, "run", lost)
        result = invoke("run", job, code=2)
    status = document("status", "tiny")
    assert (status["state"], status["progress"]["done"]) == ("failed", 0)
    assert status["message"].startswith("there is no store")
    assert f"Error: {status['run']} failed, no unit has a result; the first: " in result.stderr
    assert result.stderr.count(status["message"]) == 2  # in the log and as the error
    assert "--retry-failed" in status["go_on"]
    (tmp_path / "elsewhere").rename(tmp_path / "stores")
    again = document("resume", "tiny", "--retry-failed")
    assert (again["state"], again["failed"]) == ("done", [])


def test_ctrl_c_ends_with_the_command_that_goes_on(document, job, tmp_path):
    command = ["run", str(job), "--set", "evaluate.split.repeats=100", "--workers", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from mlfs_dask.cli import main; main()", *command],
        env=dict(os.environ),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list((tmp_path / "runs").glob("*/units/*.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"Go on with: mlfs resume {folder.name} --runs {folder.parent}" in err
    assert out == ""
    assert document("status", "tiny")["state"] == "interrupted"
