"""Files that a job names: by content, kept by the run, needed no more once it has begun."""

import json
import shutil

import pytest

from mlfs_dask.errors import JobFileError, RunFolderError
from mlfs_dask.jobs import agenda
from mlfs_dask.jobs.coordinator import Order, resume_run, run_job
from mlfs_dask.jobs.digest import job_digest
from mlfs_dask.jobs.inputs import keep_files
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.manifest import saved_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.testing.jobs import TINY_JOB

DATA = [("tiny", "d" * 64)]


@pytest.fixture
def files(tmp_path):
    """A costs file and a groups file beside a job file, and the overrides that name them."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "costs.csv").write_text("name,cost\n" + "".join(f"f{i},{i + 1}\n" for i in range(8)))
    (folder / "groups.csv").write_text("".join(f"{i // 4}\n" for i in range(60)))
    return folder


KEYS = (
    "run.workers=0",
    "data.costs=costs.csv",
    "evaluate.split={ kind = 'groups', column = 'groups.csv', folds = 3 }",
)


def read(folder, *overrides):
    return parse_job(TINY_JOB.encode(), str(folder / "tiny.toml"), (*KEYS, *overrides))


def run(job, runs):
    return run_job(Order(job=job, text=TINY_JOB.encode(), file="tiny.toml", runs=runs))


def results(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def begin_again(folder):
    """As if the run had been interrupted before its last unit."""
    kept = sorted(folder.units.iterdir())
    kept[0].unlink()
    for path in (folder.results, folder.evaluation, folder.state):
        path.unlink()


def test_costs_and_groups_come_from_the_files(tiny_store, files, tmp_path):
    done = open_run(run(read(files), tmp_path / "runs").folder.path)
    for selection in done.selections:
        assert selection["cost"] == sum(f + 1 for f in selection["support"])
    assert {int(fold) for fold in done.evaluation["fold"]} == {0, 1, 2}
    one = done.evaluation[done.evaluation["n_features"] == 2][0]
    costs = {round(one["cost_share"] * 36)}
    assert min(costs) >= 3


def test_a_run_is_resumed_without_the_originals(tiny_store, files, tmp_path):
    folder = run(read(files), tmp_path / "runs").folder
    undisturbed = results(folder)
    assert sorted(path.name for path in folder.inputs.iterdir()) == ["costs.csv", "groups.csv"]
    begin_again(folder)
    shutil.rmtree(files)
    moved = RunFolder(tmp_path / "elsewhere" / folder.id)
    moved.path.parent.mkdir()
    folder.path.rename(moved.path)
    finished = resume_run(moved)
    assert (finished.state, finished.fresh) == ("done", True)
    assert results(moved) == undisturbed
    paths = {file.path for file in saved_job(moved).files.values()}
    assert paths == {str(path) for path in moved.inputs.iterdir()}


def test_the_same_content_elsewhere_is_the_same_job(tiny_store, files, tmp_path):
    first = read(files)
    other = tmp_path / "other"
    shutil.copytree(files, other)
    (other / "costs.csv").rename(other / "prices.csv")
    second = read(other, "data.costs=prices.csv")
    assert job_digest(first, DATA) == job_digest(second, DATA)
    assert run(first, tmp_path / "runs").fresh
    assert not run(second, tmp_path / "runs").fresh
    (other / "prices.csv").write_text("name,cost\n" + "".join(f"f{i},{i + 2}\n" for i in range(8)))
    third = read(other, "data.costs=prices.csv")
    assert job_digest(third, DATA) != job_digest(first, DATA)


def test_groups_change_the_job_too(files):
    first = read(files)
    (files / "groups.csv").write_text("".join(f"{i // 5}\n" for i in range(60)))
    assert job_digest(read(files), DATA) != job_digest(first, DATA)


def test_a_file_that_changes_while_the_job_starts_is_refused(tiny_store, files, tmp_path):
    job = read(files)
    (files / "groups.csv").write_text("".join(f"{i // 5}\n" for i in range(60)))
    with pytest.raises(RunFolderError, match="was changed since the job was read"):
        run(job, tmp_path / "runs")
    (files / "groups.csv").unlink()
    with pytest.raises(RunFolderError, match="No such file"):
        keep_files(job, tmp_path / "inputs")


def test_a_copy_that_was_changed_is_refused(tiny_store, files, tmp_path):
    folder = run(read(files), tmp_path / "runs").folder
    begin_again(folder)
    copy = folder.inputs / "costs.csv"
    copy.write_text(copy.read_text().replace("f0,1", "f0,9"))
    for begin in (lambda: resume_run(folder), lambda: run(read(files), tmp_path / "runs")):
        with pytest.raises(RunFolderError, match=r"inputs/costs\.csv was changed") as caught:
            begin()
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("costs.csv", "f0,1\nf9,2\n", "data.costs: tiny: {path}:2: no feature is named 'f9'"),
        ("costs.csv", "f0,1\n", "data.costs: tiny: {path}: 7 features have no cost: 'f1', "),
        ("groups.csv", "a\nb\n", "evaluate.split: tiny: {path}:2: 2 group ids up to line 2; "),
        ("groups.csv", "a\n" * 60, "evaluate.split: tiny: folds = 3, but the rows form only 1"),
    ],
)
def test_files_that_do_not_fit_are_told_with_their_own_path(
    tiny_store, files, tmp_path, name, text, problem
):
    (files / name).write_text(text)
    with pytest.raises(JobFileError) as caught:
        run(read(files), tmp_path / "runs")
    assert caught.value.problems[0].startswith(problem.format(path=files / name))
    assert not (tmp_path / "runs").exists()


def test_the_resolved_job_says_where_the_copies_are(tiny_store, files, tmp_path):
    folder = run(read(files), tmp_path / "runs").folder
    document = json.loads(folder.resolved.read_text())
    assert document["data"]["costs"] == "costs.csv"
    assert document["files"]["data.costs"]["path"] == str(folder.inputs / "costs.csv")


@pytest.mark.cluster
def test_workers_read_the_copies_and_give_the_same_bytes(tiny_store, files, tmp_path, monkeypatch):
    """Every key that reaches into units, by a worker of its own and in this process."""
    monkeypatch.setattr(agenda, "_LONG_SECONDS", 0.0)
    changes = (
        *("data.impute=mean", "data.missing.rate=0.1", "sweep.select.0.phi=[1, 2]"),
        *("select.0.prefilter={ method = 'mllap', n = 5 }", "select.1.n_features_to_select=3"),
        *("select.1.label=few", "evaluate.features={ size_of = 'few' }"),
        "select.1.features.selected=true",
    )
    here = run(read(files, *changes), tmp_path / "here").folder
    there = run(read(files, *changes, "run.workers=1"), tmp_path / "there").folder
    assert {unit["worker"] for unit in open_run(there.path).timings["units"]}.isdisjoint(
        unit["worker"] for unit in open_run(here.path).timings["units"]
    )
    assert results(here) == results(there)
