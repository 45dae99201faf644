"""What is level and what grows, as the long run judges it."""

import numpy as np
import pytest
from long_runs import Record, slope

JOBS = np.repeat(np.arange(200), 2)


def seen(memory, counts=lambda done: 5):
    """A run of 200 jobs whose only process takes so much memory, with counts after each ten."""
    found = Record()
    found.memory = [(int(done), {"worker": mb}) for done, mb in zip(JOBS, memory, strict=True)]
    found.rests = [(done, {"keys": counts(done)}) for done in range(10, 201, 10)]
    return found


def noise():
    """What tasks in hand take: mostly little, now and then much."""
    rng = np.random.default_rng(0)
    return 200 + rng.exponential(10, len(JOBS)) + 100 * (rng.random(len(JOBS)) < 0.05)


def test_the_slope_is_the_median_of_all_pairs():
    assert slope([0, 1, 2, 3, 4], [0, 1, 2, 300, 4]) == 1
    assert slope([1, 1], [0, 5]) == 0


@pytest.mark.parametrize(
    "memory", [0 * JOBS, -0.5 * JOBS, 100 * (1 - np.exp(-JOBS / 15)), 60 * (JOBS > 80)]
)
def test_level_falling_and_filled_up_memory_is_level(memory):
    assert seen(noise() + memory).growing() == {}


def test_a_slow_leak_is_found_below_the_noise():
    found = seen(noise() + 0.15 * JOBS)
    assert found.bound() < 0.1
    assert list(found.growing()) == ["worker"]


@pytest.mark.parametrize(
    ("counts", "grows"),
    [
        (lambda done: 5 + done // 40, True),
        (lambda done: 6 if done > 50 else 5, True),
        (lambda done: 5 + done % 20, False),
        (lambda done: 9 if done == 10 else 5, False),
    ],
    ids=["more and more", "one more", "now and then", "at first"],
)
def test_counts_have_to_come_down_again(counts, grows):
    assert ("keys" in seen(noise(), counts).growing()) is grows
