"""The stop-watch itself: turns, medians, bounds, what a process takes."""

import sys
from collections.abc import Callable

import pytest

from benchmarks.side_by_side import SideBySide, at_most, faster, run_command


class Hand:
    """A clock moved by hand, and contenders that move it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contender(self, name: str, *seconds: float) -> Callable[[], str]:
        """Takes these seconds in turn, the last for ever."""
        left = list(seconds)

        def run() -> str:
            self.order.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return name

        return run


def test_contenders_take_turns_after_a_warm_up() -> None:
    hand = Hand()
    side_by_side = SideBySide(full=True, clock=hand)
    timings = side_by_side.compare(
        "turns",
        ours=hand.contender("a", 100, 1, 9, 2),  # the warm-up of 100 s does not count
        peers={"b": hand.contender("b", 100, 6, 5, 4), "c": hand.contender("c", 7)},
        repeats=3,
        once=["c"],
    )
    assert "".join(hand.order) == "ab" + "abc" + "ba" + "ab"
    assert timings["ours"].seconds == (1, 9, 2)
    assert timings["b"].seconds == (6, 5, 4)
    assert timings["c"].seconds == (7,)
    assert timings["ours"].median == 2


def test_rows_say_what_was_asked_and_whether_it_was_met() -> None:
    hand = Hand()
    side_by_side = SideBySide(full=True, clock=hand)
    side_by_side.compare(
        "bounds",
        ours=hand.contender("a", 2),
        peers={name: hand.contender(name, 5) for name in "bcde"},
        bounds={"b": faster(2.5), "c": faster(2.6), "d": at_most(0.3, plus_seconds=0.5)},
    )
    rows = {row.against: row for row in side_by_side.rows}
    assert {name: row.met for name, row in rows.items()} == dict(b=True, c=False, d=True, e=None)
    assert rows["b"].result == "2.5x faster"
    assert rows["d"].result == "0.40x its time"
    assert rows["d"].asked == "at most 0.3x + 0.5 s"
    assert rows["b"].ours == "2 s (2 s to 2 s)"


@pytest.mark.parametrize(
    ("bound", "limit"),
    [(at_most(1.5), 3.0), (at_most(1, plus_seconds=0.25), 2.25), (faster(4), 0.5)],
)
def test_bounds_hold_up_to_their_limit(bound, limit: float) -> None:
    assert bound.met(ours=limit, peer=2.0)
    assert not bound.met(ours=limit * 1.001, peer=2.0)


def test_a_normal_test_runs_each_contender_once_and_measures_nothing() -> None:
    hand = Hand()
    side_by_side = SideBySide(full=False, clock=hand)
    timings = side_by_side.compare(
        "quick",
        ours=hand.contender("a", 9),
        peers={"b": hand.contender("b", 1)},
        bounds={"b": faster(50)},
    )
    assert hand.order == ["a", "b"]
    assert timings == {}
    assert side_by_side.rows == []
    assert side_by_side.size(full=1000, quick=10) == 10


@pytest.mark.parametrize("full", [True, False])
def test_disagreement_fails(full: bool) -> None:
    def equal(ours: int, theirs: int) -> None:
        assert ours == theirs

    with pytest.raises(AssertionError) as caught:
        SideBySide(full=full).compare(
            "disagree", ours=lambda: 1, peers={"b": lambda: 2}, agree={"b": equal}
        )
    assert caught.value.__notes__ == ["ours against b"]


def test_a_bound_on_no_peer_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"not among the peers of 'x': \['numpy'\]"):
        SideBySide(full=False).compare(
            "x", ours=lambda: 0, peers={"NumPy": lambda: 0}, bounds={"numpy": faster(2)}
        )


def test_a_missing_peer_is_an_error_only_when_measuring() -> None:
    assert SideBySide(full=False).importable("json")
    assert not SideBySide(full=False).importable("no_such_package")
    with pytest.raises(ModuleNotFoundError, match="make bench"):
        SideBySide(full=True).importable("no_such_package")


def test_command_sees_the_peak_of_the_process_alone() -> None:
    ballast = bytearray(400_000_000)  # this process is larger than the one it starts
    program = "x = bytearray(100_000_000); print('done')"
    side_by_side = SideBySide(full=True)
    cost = side_by_side.command(
        "peak", [sys.executable, "-c", program], at_most_seconds=600, at_most_bytes=50_000_000
    )
    assert len(ballast) > cost.peak_bytes > 100_000_000
    assert cost.stdout == "done\n"
    assert [row.met for row in side_by_side.rows] == [True, False]


def test_command_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no luck"):
        run_command([sys.executable, "-c", "raise SystemExit('no luck')"])
