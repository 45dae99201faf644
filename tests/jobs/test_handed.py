"""What travels with a task is small whatever the data are; the rest goes through the run folder."""

import pickle
import queue
from contextlib import contextmanager

import pytest
from msgspec import json

from mlfs_dask.jobs import handed
from mlfs_dask.jobs.handed import LARGE, fetch_outcome, forget, run_stowed_task, stow
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.on_cluster import OnClient
from mlfs_dask.jobs.perform import Address, Selected
from mlfs_dask.jobs.units import part_for, units_of
from mlfs_dask.jobs.work import Outcome, Task
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

MOST = 2**20


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").touch()
    return folder


def a_task(n_features, *, n_problems=1, decided=0):
    """Everything of the tiny job as one task, as if its data had so many features."""
    job = parse_job(TINY_JOB.encode(), "tiny.toml")
    units = units_of(job, ["tiny"])
    order = tuple(range(n_features))
    problems = tuple((label,) for label in range(n_problems)) if n_problems > 1 else None
    found = Selected((order,) * n_problems, (order[:9],) * n_problems, problems)
    record = {"step": 1, "feature": 1, "score": 0.123456789, "reason": "accepted: by its score"}
    return Task(
        name="7",
        session="s",
        job=part_for(job, units),
        addresses={"tiny": Address("/shared/stores/tiny.zarr", "d" * 64)},
        units=units,
        selected={"select-0123456789": found},
        decided={"select-abcdef": (record,) * decided} if decided else {},
    )


def test_a_task_is_small_for_any_data(run):
    """tmc2007 with all its words, a selection for each label, one in the middle."""
    for task in (
        a_task(49_060),
        a_task(49_060, n_problems=22),
        a_task(100, decided=49_060),
    ):
        sent = stow(task, run, lambda: True)
        assert len(pickle.dumps((run_stowed_task, sent))) < MOST
    plain = stow(a_task(100), run, lambda: True)
    assert (plain.handed, plain.selected) == ("", a_task(100).selected)


def test_workers_that_do_not_see_the_run_get_all_of_it(run):
    task = a_task(49_060, n_problems=22)
    sent = stow(task, run, lambda: False)
    assert (sent.selected, sent.decided, sent.handed) == (task.selected, task.decided, "")
    assert not (run / "handed").exists()


def test_what_is_handed_over_arrives_whole_and_is_removed(run, monkeypatch):
    task = a_task(30_000, n_problems=3, decided=3000)
    got, payload = [], b"x" * (LARGE + 1)

    def run_task(task, tell, should_stop):
        got.append(task)
        for unit, content in zip(task.units, (payload, b"small", None), strict=False):
            yield Outcome(unit=unit, payload=content, failure=None, seconds=1.0, worker="w")

    @contextmanager
    def silent(task):
        yield None

    monkeypatch.setattr(handed, "run_task", run_task)
    monkeypatch.setattr(handed, "tells_steps", silent)
    outcomes = run_stowed_task(stow(task, run, lambda: True))
    assert json.encode(got[0].selected) == json.encode(task.selected)
    assert got[0].decided == task.decided
    assert len(pickle.dumps(outcomes)) < MOST / 2
    assert [fetch_outcome(outcome).payload for outcome in outcomes] == [payload, b"small", None]
    forget(run)
    assert not (run / "handed").exists()


@pytest.mark.cluster
def test_large_results_come_through_the_run_folder(toys, run_tiny, tmp_path, monkeypatch):
    make_tiny_store(tmp_path / "stores", name="wide", d=3000)
    text = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"').replace(
        'store = "tiny"', 'store = "wide"'
    )
    text = text[: text.index("[evaluate]")]
    alone = run_tiny(text=text, runs=tmp_path / "alone").folder
    fetched = []

    def fetch(outcome):
        fetched.append(outcome.handed)
        return fetch_outcome(outcome)

    monkeypatch.setattr("mlfs_dask.jobs.on_cluster.fetch_outcome", fetch)
    folder = run_tiny("run.workers=1", text=text).folder
    assert any(fetched)
    assert folder.results.read_bytes() == alone.results.read_bytes()
    assert not (folder.path / "handed").exists()


@pytest.mark.cluster
def test_the_owner_of_a_client_keeps_its_handlers(tmp_path):
    """Tasks go through a connection of their own."""
    from distributed import Client, LocalCluster

    heard = queue.Queue()
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.subscribe_topic("all", lambda event: heard.put(event[1].get("of mine")))
        while heard.empty():  # subscribing takes a moment
            client.log_event("all", {"of mine": "before"})
        with OnClient(client, None, "session", tmp_path):
            client.log_event("all", {"of mine": "during"})
        client.log_event("all", {"of mine": "after"})
        told = []
        while "after" not in told:
            told.append(heard.get(timeout=60))
    assert "during" in told
