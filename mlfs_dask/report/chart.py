"""Geometry of a chart: where lines, bands, ticks and labels stand; the template only draws.

Coordinates are in units of the picture (``WIDTH`` x ``HEIGHT``), y downwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

WIDTH: Final = 420
HEIGHT: Final = 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 408, 12, 230
_WANTED_TICKS: Final = 5
_Scale: TypeAlias = Callable[[float], float]


@dataclass(frozen=True)
class Sample:
    """One point of a series, in data units.

    Attributes
    ----------
    x, y
        Share of the features; mean.
    spread
        Standard deviation over the folds, or None.
    note
        What a pointer held over it shows.
    """

    x: float
    y: float
    spread: float | None
    note: str


@dataclass(frozen=True)
class Series:
    """One line.

    Attributes
    ----------
    name
        For the legend.
    number
        Position in the legend: decides colour and dashes.
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
    """A point as drawn."""

    x: float
    y: float
    note: str


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


def make_chart(title: str, better: str, series: Sequence[Series]) -> Chart:
    """Lay out a chart of means over shares with bands of one standard deviation.

    Parameters
    ----------
    title
        Name of the measure.
    better
        Which direction is better, in words.
    series
        Lines; empty ones are left out.
    """
    shown = [one for one in series if one.samples]
    lows = [s.y - (s.spread or 0.0) for one in shown for s in one.samples]
    highs = [s.y + (s.spread or 0.0) for one in shown for s in one.samples]
    y_ticks = nice_ticks(min(lows, default=0.0), max(highs, default=1.0))
    low, high = y_ticks[0], y_ticks[-1]

    def across(x: float) -> float:
        return round(_LEFT + x * (_RIGHT - _LEFT), 2)

    def up(y: float) -> float:
        return round(_BOTTOM - (y - low) / (high - low) * (_BOTTOM - _TOP), 2)

    digits = max(0, -math.floor(math.log10(y_ticks[1] - y_ticks[0]) + 1e-9))
    names = ", ".join(one.name for one in shown)
    return Chart(
        title=title,
        better=better,
        description=f"{title} over the share of features, {better}: {names}",
        lines=tuple(_line(one, across, up) for one in shown),
        x_ticks=tuple(Tick(across(x / 5), f"{20 * x} %") for x in range(6)),
        y_ticks=tuple(Tick(up(y), f"{y:.{digits}f}") for y in y_ticks),
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


def _line(one: Series, across: _Scale, up: _Scale) -> Line:
    samples = list(one.samples)
    if one.is_baseline:
        only = samples[0]
        samples = [Sample(x, only.y, only.spread, only.note) for x in (0.0, 1.0)]
    path = _path([(across(s.x), up(s.y)) for s in samples])
    upper = [(across(s.x), up(s.y + (s.spread or 0.0))) for s in samples]
    lower = [(across(s.x), up(s.y - (s.spread or 0.0))) for s in samples]
    has_band = any(s.spread for s in samples) and not one.is_baseline
    marks = () if one.is_baseline else tuple(Mark(across(s.x), up(s.y), s.note) for s in samples)
    return Line(
        name=one.name,
        number=one.number,
        path=path,
        band=_path([*upper, *lower[::-1]]) + "Z" if has_band else "",
        marks=marks,
        is_baseline=one.is_baseline,
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points)
