"""Contenders timed in turns, in one run on one machine, against the bounds that were asked for.

A benchmark is an ordinary test that takes the fixture ``side_by_side``::

    from benchmarks.side_by_side import SideBySide, at_most, faster

    def test_spec_jaccard(side_by_side: SideBySide) -> None:
        X, Y = planted(side_by_side.size(full=28_596, quick=60))
        side_by_side.compare(
            "spec Jaccard, tmc2007-500",
            ours=lambda: get_selector("spec").fit(X, Y).scores_,
            peers={
                "NumPy by hand, collapsed": lambda: collapsed(X, Y),
                "NumPy by hand, blockwise": lambda: blockwise(X, Y),
            },
            bounds={
                "NumPy by hand, collapsed": at_most(1.5),
                "NumPy by hand, blockwise": faster(50),
            },
            agree={"NumPy by hand, blockwise": np.testing.assert_allclose},
            once=["NumPy by hand, blockwise"],
        )

As part of the normal suite (``side_by_side.full`` is False) every contender runs once on the small
sizes and the results are compared; no time is measured or judged. Under ``make bench`` the
contenders alternate: each round runs all of them, the order turned by one from round to round, so
that a slow minute of the machine falls on all alike. Medians are compared. A missed bound does not
stop the run: its row says so and ``make bench`` ends with exit code 1.

Everything that should not be timed (reading files, starting a cluster) belongs before the call of
`SideBySide.compare`. Peers from packages that only ``make bench`` installs are put behind
`SideBySide.importable`; a peer that warns needs ``@pytest.mark.filterwarnings("ignore")`` on the
test, since warnings are errors here. Real files come from the fixture ``mlfs_data``.
"""

from __future__ import annotations

import gc
import importlib.util
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from processes import CommandCost, run_command

Contender = Callable[[], Any]


class Bound(Protocol):
    """What was asked of our time against a peer's."""

    def met(self, ours: float, peer: float) -> bool:
        """Whether two median times, in seconds, keep the bound."""

    def asked(self) -> str:
        """The bound in words."""

    def result(self, ours: float, peer: float) -> str:
        """The measured relation in the same terms."""


@dataclass(frozen=True)
class AtMost:
    """Our time is at most so many times the peer's, plus some seconds."""

    times: float
    plus_seconds: float = 0.0

    def met(self, ours: float, peer: float) -> bool:
        return ours <= self.times * peer + self.plus_seconds

    def asked(self) -> str:
        plus = f" + {self.plus_seconds:g} s" if self.plus_seconds else ""
        return f"at most {self.times:g}x{plus}"

    def result(self, ours: float, peer: float) -> str:
        return f"{ours / peer:.2f}x its time"


@dataclass(frozen=True)
class Faster:
    """We are at least so many times faster than the peer."""

    times: float

    def met(self, ours: float, peer: float) -> bool:
        return peer >= self.times * ours

    def asked(self) -> str:
        return f"at least {self.times:g}x faster"

    def result(self, ours: float, peer: float) -> str:
        return f"{peer / ours:.3g}x faster"


def at_most(times: float, *, plus_seconds: float = 0.0) -> Bound:
    """Bound: our median is at most ``times`` the peer's median plus ``plus_seconds``.

    Examples
    --------
    >>> at_most(1.3, plus_seconds=0.3).asked()
    'at most 1.3x + 0.3 s'
    """
    return AtMost(times, plus_seconds)


def faster(times: float) -> Bound:
    """Bound: the peer's median is at least ``times`` our median.

    Examples
    --------
    >>> faster(50).met(ours=0.1, peer=4.9)
    False
    """
    return Faster(times)


@dataclass(frozen=True)
class Timing:
    """Seconds of the rounds of one contender."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def text(self) -> str:
        """Median, and smallest to largest where there was more than one round."""
        if len(self.seconds) == 1:
            return f"{show_seconds(self.median)} (once)"
        spread = f"{show_seconds(min(self.seconds))} to {show_seconds(max(self.seconds))}"
        return f"{show_seconds(self.median)} ({spread})"


@dataclass(frozen=True)
class Row:
    """One line of BENCHMARKS.md; ``met`` is None where nothing was asked."""

    what: str
    ours: str
    against: str
    theirs: str
    result: str
    asked: str
    met: bool | None


@dataclass
class SideBySide:
    """Runs contenders and keeps the rows.

    Attributes
    ----------
    full
        Measure (``make bench``), instead of running everything once on small sizes.
    rows
        Where the rows go.
    clock
        Seconds; replaced in the tests of this class.
    """

    full: bool
    rows: list[Row] = field(default_factory=list)
    clock: Callable[[], float] = time.perf_counter

    def size(self, *, full: int, quick: int) -> int:
        """The size for this run: ``full`` when measuring, ``quick`` as a normal test."""
        return full if self.full else quick

    def importable(self, package: str) -> bool:
        """Whether a peer's package is there; when measuring it has to be."""
        found = importlib.util.find_spec(package) is not None
        if self.full and not found:
            raise ModuleNotFoundError(f"the peer {package} is not installed: use `make bench`")
        return found

    def compare(
        self,
        name: str,
        *,
        ours: Contender,
        peers: Mapping[str, Contender],
        bounds: Mapping[str, Bound] | None = None,
        agree: Mapping[str, Callable[[Any, Any], Any]] | None = None,
        repeats: int = 5,
        warmup: int = 1,
        once: Collection[str] = (),
    ) -> dict[str, Timing]:
        """Time ours against peers, in turns.

        Parameters
        ----------
        name
            What is measured, on which data.
        ours, peers
            Contenders without arguments; the name of a peer says which settings it has.
        bounds
            By peer. "At least 3x faster than the best of three" is the same bound on each.
        agree
            By peer: ``check(our_result, its_result)`` raises where the two do not agree.
        repeats, warmup
            Timed rounds, and rounds before them that are not timed (compilation, caches).
        once
            Peers too slow to repeat: timed in the first round only, without warm-up.

        Returns
        -------
        dict
            Timings by contender, ours under ``"ours"``; empty as a normal test.
        """
        bounds = bounds or {}
        agree = agree or {}
        unknown = ({*bounds} | {*agree} | {*once}) - {*peers}
        if unknown:
            raise ValueError(f"not among the peers of {name!r}: {sorted(unknown)}")
        contenders = {"ours": ours, **peers}
        if not self.full:
            first = {key: run() for key, run in contenders.items()}
            _check_agreement(agree, first)
            return {}
        for key, run in contenders.items():
            for _ in range(warmup if key not in once else 0):
                run()
        seconds, results = self._rounds(contenders, repeats, once)
        _check_agreement(agree, results)
        timings = {key: Timing(key, tuple(values)) for key, values in seconds.items()}
        for peer in peers:
            self.rows.append(row_of(name, timings["ours"], timings[peer], bounds.get(peer)))
        return timings

    def _rounds(
        self, contenders: Mapping[str, Contender], repeats: int, once: Collection[str]
    ) -> tuple[dict[str, list[float]], dict[str, Any]]:
        seconds: dict[str, list[float]] = {key: [] for key in contenders}
        results: dict[str, Any] = {}
        keys = list(contenders)
        for turn in range(repeats):
            start = turn % len(keys)
            for key in keys[start:] + keys[:start]:
                if key in once and turn > 0:
                    continue
                gc.collect()
                begin = self.clock()
                result = contenders[key]()
                seconds[key].append(self.clock() - begin)
                results[key] = result
        return seconds, results

    def command(
        self,
        name: str,
        argv: Sequence[str],
        *,
        at_most_seconds: float | None = None,
        at_most_bytes: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandCost:
        """Time and peak memory of a whole process, once.

        Parameters
        ----------
        name
            What is run, on which data.
        argv
            The command; it must end with exit code 0.
        at_most_seconds, at_most_bytes
            What was asked, if anything.
        env
            Environment; this process's by default.
        """
        cost = run_command(argv, env)
        if self.full:
            for limit, spent, show in (
                (at_most_seconds, cost.seconds, show_seconds),
                (at_most_bytes, cost.peak_bytes, show_bytes),
            ):
                asked = "" if limit is None else f"at most {show(limit)}"
                met = None if limit is None else spent <= limit
                self.rows.append(Row(name, show(spent), "", "", "", asked, met))
        return cost


def show_seconds(seconds: float) -> str:
    """Seconds with three significant digits.

    Examples
    --------
    >>> show_seconds(0.00123456), show_seconds(83.219)
    ('1.23 ms', '83.2 s')
    """
    return f"{seconds * 1000:.3g} ms" if seconds < 0.1 else f"{seconds:.3g} s"


def show_bytes(count: float) -> str:
    """Bytes in MB, the unit of the bounds.

    Examples
    --------
    >>> show_bytes(500e6)
    '500 MB'
    """
    return f"{count / 1e6:.0f} MB"


def _check_agreement(
    agree: Mapping[str, Callable[[Any, Any], Any]], results: Mapping[str, Any]
) -> None:
    for peer, check in agree.items():
        try:
            check(results["ours"], results[peer])
        except AssertionError as error:
            error.add_note(f"ours against {peer}")
            raise


def row_of(name: str, ours: Timing, peer: Timing, bound: Bound | None) -> Row:
    """The line that says how our time compares with a peer's, and with what was asked."""
    stated = bound or Faster(1.0)
    return Row(
        what=name,
        ours=ours.text(),
        against=peer.name,
        theirs=peer.text(),
        result=stated.result(ours.median, peer.median),
        asked=bound.asked() if bound else "",
        met=bound.met(ours.median, peer.median) if bound else None,
    )
