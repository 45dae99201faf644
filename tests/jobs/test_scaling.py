"""Time on more workers, on paper: what is shared, what is not, and which of it matters most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from mlfs_dask.graphs.messages import IN_FLIGHT, fetched_together
from mlfs_dask.jobs import cluster_rates
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.scaling import (
    DECIDING,
    FEW_TASKS,
    NONE,
    RESULTS,
    SCHEDULER,
    UPKEEP,
    WAITING,
    elapsed,
    forecasts,
)
from mlfs_dask.jobs.spec import Method
from mlfs_dask.jobs.workload import Stage, Work

FREE = Rates(
    task_seconds=1e-12,
    message_seconds=1e-12,
    worker_seconds=1e-12,
    round_seconds=1e-12,
    reply_seconds=1e-12,
    shared_reply_seconds=1e-12,
    crowded=1e-12,
    upkeep=1e-12,
    background=1e-12,
    bytes_per_second=1e18,
)


def on(workers, *stages, rates=FREE):
    return elapsed(Work("", stages), workers, rates)


def test_tasks_are_shared_and_decisions_are_not():
    tasks, decisions = Stage("tiles", 32.0, tasks=320), Stage("choices", 1.0)
    assert on(1, tasks, decisions).seconds == pytest.approx(33.0)
    assert on(16, tasks, decisions).seconds == pytest.approx(3.0)
    assert on(16, tasks, decisions).bottleneck == DECIDING
    assert on(16, tasks).bottleneck == NONE


def test_a_stage_takes_as_long_as_its_busiest_worker():
    stage = Stage("tiles", 9.0, tasks=9)
    assert [on(w, stage).seconds for w in (1, 2, 4, 9, 100)] == pytest.approx([9, 5, 3, 1, 1])
    assert on(4, stage).bottleneck == FEW_TASKS
    rounds = Stage("rounds", 8.0, tasks=8, rounds=4)  # two tasks at a time
    assert on(4, rounds).seconds == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("rates", "seconds", "cause"),
    [
        ({"task_seconds": 0.01}, 10.0, SCHEDULER),
        ({"bytes_per_second": 1e6}, 8.0, RESULTS),
        ({"message_seconds": 0.1}, 100.0, SCHEDULER),  # eight results of eight workers in each
        ({"round_seconds": 5.0}, 6.0, WAITING),
        ({"reply_seconds": 5.0}, 124 * (5.0 + 0.1) / 50, WAITING),  # fifty batches on their way
    ],
)
def test_what_keeps_a_stage_from_being_faster_is_named(rates, seconds, cause):
    stage = Stage("tiles", 100.0, tasks=1000, result_bytes=8e6)
    found = on(100, stage, rates=structs.replace(FREE, **rates))
    assert found.seconds == pytest.approx(seconds)
    assert found.bottleneck == cause


def test_reading_is_shared():
    stage = Stage("tiles", 1.0, tasks=100, read_bytes=3e9)
    rates = structs.replace(FREE, read_bytes_per_second=3e8)
    assert on(1, stage, rates=rates).seconds == pytest.approx(11.0)
    assert on(10, stage, rates=rates).seconds == pytest.approx(1.1)


@given(
    seconds=st.floats(0.01, 1e4),
    tasks=st.integers(1, 10**5),
    sent=st.floats(0, 1e9),
    serial=st.floats(0, 100),
    workers=st.integers(1, 2000),
)
def test_more_workers_never_promise_more_than_they_are(seconds, tasks, sent, serial, workers):
    work = Work("", (Stage("tiles", seconds, tasks, result_bytes=sent), Stage("rest", serial)))
    rates = Rates()
    alone, together = elapsed(work, 1, rates), elapsed(work, workers, rates)
    assert together.seconds <= alone.seconds * (1 + 1e-9)
    assert work.seconds <= workers * together.seconds * (1 + 1e-9)
    assert all(loss >= -1e-9 * together.seconds for loss in together.losses.values())
    lost = sum(together.losses.values())
    assert together.seconds == pytest.approx(work.seconds / workers + lost)


def test_processes_of_one_machine_share_its_cores():
    stage, rates = Stage("tiles", 8.0, tasks=800), structs.replace(FREE, task_seconds=0.005)
    assert elapsed(Work("", (stage,)), 2, rates).seconds == pytest.approx(4.0)
    assert elapsed(Work("", (stage,)), 2, rates, cores=2).seconds == pytest.approx(6.0)
    assert elapsed(Work("", (stage,)), 1, rates, cores=2).seconds == pytest.approx(8.0)
    busy = structs.replace(FREE, upkeep=0.25, background=0.4)
    assert elapsed(Work("", (stage,)), 1, busy, cores=2).seconds == pytest.approx(8.0)
    assert elapsed(Work("", (stage,)), 2, busy, cores=2).seconds == pytest.approx(10.0 / 1.6)
    assert elapsed(Work("", (stage,)), 2, busy).seconds == pytest.approx(5.0)
    assert elapsed(Work("", (stage,)), 2, busy).bottleneck == UPKEEP


def test_forecasts_of_a_selection():
    sizes = Sizes(10_000, 200, 30, 1000, 4096, 2_000_000, bits=False, item_bytes=4)
    pairs = Method(method="laplacian", label="lap", params={"n_neighbors": 5})
    found = forecasts("data", pairs, sizes, Rates())
    assert [(f.n_samples, f.workers) for f in found] == [
        (n, w) for n in (10**6, 10**8) for w in (16, 128, 1024)
    ]
    assert all(0 < f.efficiency <= 1 for f in found)
    assert found[0].efficiency > 0.9  # all pairs of rows: much to do, little to send
    scan = Method(method="variance", label="var", params={})
    assert forecasts("data", scan, sizes, Rates())[2].bottleneck != NONE


def test_short_tasks_wait_for_messages_and_long_ones_do_not():
    rates = structs.replace(FREE, round_seconds=0.01, reply_seconds=0.012)
    short, long = Stage("tiles", 0.028, tasks=28), Stage("tiles", 28.0, tasks=28)
    # One batch is at work, for two milliseconds, while another is on its way.
    assert on(1, short, rates=rates).seconds == pytest.approx(0.01 + 13 * 0.014 / 2)
    assert on(2, short, rates=rates).seconds == pytest.approx(0.01 + 6 * 0.014 / 2)
    assert on(1, long, rates=rates).seconds == pytest.approx(28.01)
    assert on(1, short, rates=rates).bottleneck == WAITING


def test_what_goes_back_and_forth_between_tasks_is_part_of_a_turn():
    rates = structs.replace(FREE, reply_seconds=0.01, shared_reply_seconds=0.02)
    several = Stage("tiles", 0.028, tasks=28, shared=True)
    assert on(1, several, rates=rates).seconds == pytest.approx(13 * 0.022 / 2)
    made = Stage("tiles", 0.028, tasks=28, making_seconds=0.056)
    assert on(1, made, rates=rates).seconds == pytest.approx(13 * 0.016 / 2)
    slow = structs.replace(rates, bytes_per_second=1e6)
    large = Stage("tiles", 0.028, tasks=28, result_bytes=28e3)
    assert on(1, large, rates=slow).seconds == pytest.approx(13 * 0.014 / 2)


def test_in_a_crowd_handing_out_takes_longer_while_workers_compute():
    rates = structs.replace(FREE, reply_seconds=0.012, task_seconds=0.001)
    stage = Stage("tiles", 0.056, tasks=28)  # of two at a time: 4 ms, 2 ms to hand them out

    def seen(crowded, cores):
        more = structs.replace(rates, crowded=crowded)
        return elapsed(Work("", (stage,)), 1, more, cores).seconds / 13

    assert [seen(1e-12, 1), seen(3.0, 2)] == pytest.approx([0.018 / 2] * 2)
    longer = seen(3.0, 1)
    assert longer == pytest.approx(0.018 / 2 + 3.0 * 0.002 * (0.004 / longer) / 2)
    idle = Stage("tiles", 1e-12, tasks=28)  # nobody computes
    crowd = structs.replace(rates, crowded=3.0)
    assert elapsed(Work("", (idle,)), 1, crowd, 1).seconds == pytest.approx(13 * 0.014 / 2)


@pytest.mark.parametrize(("cores", "expected"), [(2, 1.7), (4, 1.7), (32, 0.0)])
def test_a_crowd_is_measured_as_it_is_predicted(monkeypatch, cores, expected):
    """Of what short tasks take on one worker and on all cores; 32 leave the scheduler no pause."""
    monkeypatch.setattr(cluster_rates, "available_cores", lambda: cores)
    known = structs.replace(
        FREE, reply_seconds=0.007, task_seconds=8e-4, message_seconds=6e-4, worker_seconds=7e-4
    )

    def turn(workers, rates):
        stage = Stage("tiles", 0.0028 * 3200, tasks=3200)
        waits = 3200 / fetched_together(workers) - 1
        seconds = elapsed(Work("", (stage,)), workers, rates, cores).seconds / waits
        return cluster_rates._Turn(
            seconds * IN_FLIGHT * workers / fetched_together(workers), 0.0028
        )

    alone, crowd = turn(1, known), turn(cores, structs.replace(known, crowded=1.7))
    found = cluster_rates._crowded(alone, crowd, 7e-4, 8e-4, 6e-4)
    assert found == pytest.approx(expected, abs=0.2)
