"""Geometry of a chart: where lines, bands, marks, ticks and labels stand; the template only draws.

Coordinates are in units of the picture (``WIDTH`` x ``HEIGHT``), y downwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

WIDTH: Final = 440
HEIGHT: Final = 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 418, 12, 238
_WANTED_TICKS: Final = 5
_Scale: TypeAlias = Callable[[float], float]
# Outlines of marks around (0, 0): told apart without colours.
_MARKS: Final = (
    "m-3.4,0a3.4,3.4 0 1,0 6.8,0a3.4,3.4 0 1,0 -6.8,0z",  # disc
    "m-3,-3h6v6h-6z",  # square
    "m0,-4.2l3.9,6.7h-7.8z",  # triangle
    "m0,-4.4l4.4,4.4l-4.4,4.4l-4.4,-4.4z",  # diamond
    "m0,4.2l3.9,-6.7h-7.8z",  # triangle on its tip
    "m-1.3,-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",  # plus
    "m0,-4.2l4,2.9l-1.5,4.7h-5l-1.5,-4.7z",  # pentagon
    "m-4,-2.2l1.8,-1.8l2.2,2.2l2.2,-2.2l1.8,1.8l-2.2,2.2l2.2,2.2l-1.8,1.8l-2.2,-2.2l-2.2,2.2"
    "l-1.8,-1.8l2.2,-2.2z",  # cross
)
STYLES: Final = len(_MARKS)
"""How many series can be told apart."""


@dataclass(frozen=True)
class Sample:
    """One point of a series, in data units.

    Attributes
    ----------
    x, y
        Share of the features (or of the cost); mean.
    spread
        Standard deviation over the folds, or None.
    note
        What a pointer held over it shows.
    is_enough
        Whether it gets a ring: the fewest features within one standard error of the best.
    is_beyond
        Whether its mark is hollow: some of its features were ranked by a prefilter alone.
    """

    x: float
    y: float
    spread: float | None
    note: str
    is_enough: bool = False
    is_beyond: bool = False


@dataclass(frozen=True)
class Series:
    """One line.

    Attributes
    ----------
    name
        For the legend.
    number
        Decides colour and mark, below `STYLES`.
    samples
        Its points, by x; the baseline has one, and is drawn across.
    is_baseline
        Whether it is the classifier on all features.
    """

    name: str
    number: int
    samples: Sequence[Sample]
    is_baseline: bool = False


@dataclass(frozen=True)
class Tick:
    """A tick of an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Mark:
    """A point as drawn: its outline, and the note it shows."""

    x: float
    y: float
    outline: str
    note: str
    is_enough: bool
    is_beyond: bool


@dataclass(frozen=True)
class Line:
    """A series as drawn: the path of its means, the outline of its band, its points."""

    name: str
    number: int
    path: str
    band: str
    marks: tuple[Mark, ...]
    is_baseline: bool


@dataclass(frozen=True)
class Chart:
    """A chart as drawn."""

    title: str
    better: str
    x_label: str
    description: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float = _LEFT
    right: float = _RIGHT
    top: float = _TOP
    bottom: float = _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def make_chart(
    title: str, better: str, series: Sequence[Series], x_label: str = "share of the features"
) -> Chart:
    """Lay out a chart of means over shares with bands of one standard deviation.

    Parameters
    ----------
    title
        Name of the measure.
    better
        Which direction is better, in words.
    series
        Lines; empty ones are left out.
    x_label
        What the shares are of. The axis goes from 0 to the largest share of a line.
    """
    shown = [one for one in series if one.samples]
    lows = [s.y - (s.spread or 0.0) for one in shown for s in _drawn(one)]
    highs = [s.y + (s.spread or 0.0) for one in shown for s in _drawn(one)]
    y_ticks = nice_ticks(min(lows, default=0.0), max(highs, default=1.0))
    widest = max((s.x for one in shown if not one.is_baseline for s in one.samples), default=1.0)
    x_ticks = nice_ticks(0.0, widest or 1.0)
    low, high = y_ticks[0], y_ticks[-1]

    def across(x: float) -> float:
        return round(_LEFT + x / x_ticks[-1] * (_RIGHT - _LEFT), 1)

    def up(y: float) -> float:
        return round(_BOTTOM - (y - low) / (high - low) * (_BOTTOM - _TOP), 1)

    names = ", ".join(one.name for one in shown)
    return Chart(
        title=title,
        better=better,
        x_label=x_label,
        description=f"{title} over the {x_label}, {better}: {names}",
        lines=tuple(_line(one, across, up, x_ticks[-1]) for one in shown),
        x_ticks=tuple(Tick(across(x), f"{_text(100 * x, 100 * x_ticks[1])} %") for x in x_ticks),
        y_ticks=tuple(Tick(up(y), _text(y, y_ticks[1] - y_ticks[0])) for y in y_ticks),
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """Round values that span an interval, a few of them, ascending.

    Parameters
    ----------
    low, high
        The interval.

    Examples
    --------
    >>> nice_ticks(0.183, 0.267)
    [0.18, 0.2, 0.22, 0.24, 0.26, 0.28]
    """
    span = high - low
    if not span > 0:
        span = abs(high) / 10 or 1.0
    rough = span / _WANTED_TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def mark_outline(number: int) -> str:
    """Outline of a mark around the point where the path stands, for an SVG path.

    Parameters
    ----------
    number
        Of the series.
    """
    return _MARKS[number % STYLES]


def _text(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{digits}f}"


def _drawn(one: Series) -> list[Sample]:
    """Samples of which the spread is drawn too: not that of the baseline."""
    if not one.is_baseline:
        return list(one.samples)
    return [Sample(s.x, s.y, None, s.note) for s in one.samples]


def _line(one: Series, across: _Scale, up: _Scale, widest: float) -> Line:
    samples = _drawn(one)
    if one.is_baseline:
        only = samples[0]
        samples = [Sample(x, only.y, None, only.note) for x in (0.0, widest)]
    path = _path([(across(s.x), up(s.y)) for s in samples])
    upper = [(across(s.x), up(s.y + (s.spread or 0.0))) for s in samples]
    lower = [(across(s.x), up(s.y - (s.spread or 0.0))) for s in samples]
    has_band = any(s.spread for s in samples)
    return Line(
        name=one.name,
        number=one.number,
        path=path,
        band=_path([*upper, *lower[::-1]]) + "Z" if has_band else "",
        marks=() if one.is_baseline else tuple(_mark(s, one.number, across, up) for s in samples),
        is_baseline=one.is_baseline,
    )


def _mark(sample: Sample, number: int, across: _Scale, up: _Scale) -> Mark:
    x, y = across(sample.x), up(sample.y)
    outline = f"M{x:g},{y:g}{mark_outline(number)}"
    return Mark(
        x=x,
        y=y,
        outline=outline,
        note=sample.note,
        is_enough=sample.is_enough,
        is_beyond=sample.is_beyond,
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points)
