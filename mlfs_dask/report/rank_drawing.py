"""Drawing average ranks on an axis: where names, stems, bars and rulers stand, as SVG.

Coordinates are units of the picture, y downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from mlfs_dask.report.fitting import fit_lines, text_width
from mlfs_dask.report.words import printable

_SIZE: Final = 12
_SMALL: Final = 11
_LINE: Final = 14
_ROW: Final = 18
_LEVEL: Final = 8
_EDGE: Final = 16
_RANK_ROOM: Final = 38
_MARGIN: Final = 4
_BOLD: Final = 1.12  # width of bold letters, as those of a control
_BAR_OVERHANG: Final = 3
_MIN_AXIS_SHARE: Final = 0.42
_TICK_ROOM: Final = 20
_ACCENT: Final = "#2a78d6"
_FONT: Final = 'font-family="system-ui, sans-serif"'

_Scale: TypeAlias = Callable[[float], float]


@dataclass(frozen=True)
class Diagram:
    """A diagram as drawn.

    Attributes
    ----------
    width, height
        Of the picture.
    description
        The same in words, for those who do not see it.
    body
        SVG elements.
    """

    width: int
    height: int
    description: str
    body: str

    def inline(self) -> str:
        """SVG to stand in an HTML page, in the page's colour of text."""
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f"aria-label={quoteattr(self.description)} {_FONT}>{self.body}</svg>"
        )

    def document(self) -> str:
        """SVG as a file of its own, on white."""
        return stacked([self])


def stacked(diagrams: Sequence[Diagram]) -> str:
    """Diagrams below one another, as one SVG file.

    Parameters
    ----------
    diagrams
        At least one.
    """
    gap = 28
    width = max(diagram.width for diagram in diagrams)
    height = sum(diagram.height + gap for diagram in diagrams) - gap
    description = " ".join(diagram.description for diagram in diagrams)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" color="#0b0b0b" {_FONT}>',
        f"<title>{escape(printable(description))}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    top = 0
    for diagram in diagrams:
        parts.append(f'<g transform="translate(0 {top})">{diagram.body}</g>')
        top += diagram.height + gap
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class _Method:
    """A method in its place."""

    name: str
    rank: float
    x: float
    y: float
    lines: tuple[str, ...]
    on_left: bool


class RankDrawing:
    """One diagram on its way, drawn from top to bottom.

    Parameters
    ----------
    ranks
        Name -> average rank.
    limit
        Critical difference, or None.
    groups
        Names that a bar joins.
    control, marked
        With a control: its name, and the names of the methods that differ from it.
    title
        Line above.
    width
        Of the picture.
    """

    def __init__(
        self,
        ranks: Mapping[str, float],
        limit: float | None,
        groups: Sequence[Collection[str]],
        control: str | None,
        marked: Collection[str] | None,
        title: str,
        width: int,
    ) -> None:
        self.ranks, self.limit, self.groups = ranks, limit, groups
        self.control, self.marked, self.title, self.width = control, marked, title, width
        self.n = len(ranks)
        self.order = sorted(ranks, key=lambda name: ranks[name])
        self.parts: list[str] = []

    def diagram(self) -> Diagram:
        """Lay out and draw."""
        n_left, left, right = self._margins()
        low, high = left + _EDGE / 2, self.width - right - _EDGE / 2

        def across(rank: float) -> float:
            return round(low + (rank - 1) / (self.n - 1) * (high - low), 2)

        top = self._draw_title()
        top = self._draw_critical_difference(across, top)
        axis = top + 22
        self._draw_axis(across, axis)
        below = self._draw_bars(across, axis)
        methods, bottom = self._place(across, below + 12, n_left, left, right)
        for method in methods:
            self._draw_method(method, axis, left if method.on_left else self.width - right)
        if self.control is not None:
            bottom = self._draw_key(bottom)
        return Diagram(self.width, round(bottom), self._describe(), "\n".join(self.parts))

    # ------------------------------------------------------------------------- the layout

    def _margins(self) -> tuple[int, float, float]:
        """How many names stand on the left, and the room for names on either side.

        Names on both sides if they fit, as in print; else all on the left, in two lines if need
        be.
        """
        half = (self.n + 1) // 2
        beside = _RANK_ROOM + _MARGIN
        rooms = [
            max((self._width(name, name) for name in side), default=0.0) + beside
            for side in (self.order[:half], self.order[half:])
        ]
        if sum(rooms) <= (1 - _MIN_AXIS_SHARE) * self.width:
            return half, rooms[0], rooms[1]
        most = (1 - _MIN_AXIS_SHARE) * self.width - beside
        room = max(
            self._width(name, line) for name in self.order for line in self._lines(name, most)
        )
        return self.n, room + beside, float(_EDGE / 2)

    def _width(self, name: str, line: str) -> float:
        """Of a line of a method's name."""
        return text_width(line, _SIZE) * (_BOLD if name == self.control else 1.0)

    def _lines(self, name: str, room: float) -> tuple[str, ...]:
        """A method's name in lines that are no wider."""
        room /= _BOLD if name == self.control else 1.0
        return tuple(fit_lines(printable(name), room, _SIZE))

    def _place(
        self, across: _Scale, top: float, n_left: int, left: float, right: float
    ) -> tuple[list[_Method], float]:
        """The methods in their rows, and where the picture ends."""
        placed: list[_Method] = []
        bottom = top
        for names, room in ((self.order[:n_left], left), (self.order[n_left:][::-1], right)):
            y = top
            for name in names:
                lines = self._lines(name, room - _RANK_ROOM - _MARGIN + 1)
                y += (len(lines) - 1) * _LINE / 2
                rank = self.ranks[name]
                placed.append(
                    _Method(name, rank, across(rank), y, lines, names[0] in self.order[:n_left])
                )
                y += _ROW + (len(lines) - 1) * _LINE / 2
            bottom = max(bottom, y)
        return placed, bottom - _ROW + _EDGE

    # ------------------------------------------------------------------------ the drawing

    def _draw_title(self) -> float:
        y = 4.0
        for line in fit_lines(printable(self.title), self.width - 8, _SIZE + 2):
            y += _LINE
            self._text(4, y, line, 'font-weight="600"')
        return y

    def _draw_critical_difference(self, across: _Scale, top: float) -> float:
        """The critical difference as a ruler above the axis."""
        if self.limit is None:
            return top + 2
        y = top + 24
        start, end = across(1), across(1 + self.limit)
        room = self.width - 4
        cut = end > room
        end = min(end, room)
        words = f"CD = {self.limit:.3f}" + (" (longer than this)" if cut else "")
        fits = start + text_width(words, _SIZE) <= room
        self._text(start if fits else room, y - 7, words, "" if fits else 'text-anchor="end"')
        cap = "" if cut else f"M{end:g},{y - 4:g}v8"
        self.parts.append(
            f'<path class="cd-ruler" data-length="{self.limit!r}" '
            f'd="M{start:g},{y - 4:g}v8M{start:g},{y:g}H{end:g}{cap}" fill="none" '
            'stroke="currentColor" stroke-width="1.5"/>'
        )
        return y

    def _draw_axis(self, across: _Scale, y: float) -> None:
        low, high = across(1), across(self.n)
        marks = "".join(f"M{across(rank):g},{y:g}v-5" for rank in range(1, self.n + 1))
        self.parts.append(
            f'<path class="cd-axis" d="M{low:g},{y:g}H{high:g}{marks}" fill="none" '
            'stroke="currentColor"/>'
        )
        for rank in _labelled_ranks(self.n, (high - low) / (self.n - 1)):
            self._text(
                across(rank), y - 8, str(rank), 'text-anchor="middle" opacity="0.75"', size=_SMALL
            )

    def _draw_bars(self, across: _Scale, axis: float) -> float:
        """Bars of the groups, or of the control; where they end."""
        if self.control is not None:
            return self._draw_span(across, axis)
        spans = [
            (across(min(ranks)) - _BAR_OVERHANG, across(max(ranks)) + _BAR_OVERHANG, group)
            for group in self.groups
            for ranks in [[self.ranks[name] for name in group]]
        ]
        ends: list[float] = []
        for low, high, group in sorted(spans, key=lambda span: span[:2]):
            level = next((i for i, end in enumerate(ends) if end < low - 2), len(ends))
            ends[level : level + 1] = [high]
            self._bar(low, high, axis + 10 + _LEVEL * level, "cd-group", group)
        return axis + 10 + _LEVEL * len(ends)

    def _draw_span(self, across: _Scale, axis: float) -> float:
        """What lies within the critical difference of the control."""
        if self.control is None or self.limit is None:
            return axis + 8
        own = self.ranks[self.control]
        low = across(max(1.0, own - self.limit))
        high = across(min(float(self.n), own + self.limit))
        self._bar(low, high, axis + 10, "cd-span", [self.control])
        return axis + 18

    def _bar(self, low: float, high: float, y: float, kind: str, names: Collection[str]) -> None:
        title = ", ".join(printable(name) for name in names)
        words = (
            "within the critical difference of " if kind == "cd-span" else "no difference among "
        )
        self.parts.append(
            f'<path class="{kind}" d="M{low:g},{y:g}H{high:g}" stroke="{_ACCENT}" '
            f'stroke-width="4"><title>{escape(words + title)}</title></path>'
        )

    def _draw_method(self, method: _Method, axis: float, edge: float) -> None:
        x, y = method.x, method.y
        toward, anchor = (-1, "end") if method.on_left else (1, "start")
        bold = ' font-weight="700"' if method.name == self.control else ""
        is_open = self.marked is not None and method.name not in self.marked
        fill = "none" if is_open else "currentColor"
        self.parts.append(
            f'<g class="cd-method" data-name={quoteattr(printable(method.name))} '
            f'data-rank="{method.rank!r}"><title>{escape(printable(method.name))}: average rank '
            f"{method.rank:.4g}</title>"
            f'<path d="M{x:g},{axis:g}V{y:g}H{edge:g}" fill="none" stroke="currentColor" '
            'stroke-opacity="0.55"/>'
            f'<circle cx="{x:g}" cy="{axis:g}" r="3.2" fill="{fill}" '
            'stroke="currentColor" stroke-width="1.3"/>'
        )
        self._text(
            edge + 4 * toward,
            y + 4,
            f"{method.rank:.2f}",
            f'text-anchor="{anchor}" opacity="0.75"',
            size=_SMALL,
        )
        first = y + 4 - (len(method.lines) - 1) * _LINE / 2
        for i, line in enumerate(method.lines):
            place = edge + _RANK_ROOM * toward
            self._text(place, first + i * _LINE, line, f'text-anchor="{anchor}"{bold}')
        self.parts.append("</g>")

    def _draw_key(self, top: float) -> float:
        """What filled and open dots mean."""
        y = top + 6
        words = f"filled: differs from {printable(self.control or '')}; open: does not"
        for line in fit_lines(words, self.width - 8, _SMALL):
            self._text(4, y, line, 'opacity="0.75"', size=_SMALL)
            y += _LINE
        return y - _LINE + 8

    def _text(self, x: float, y: float, text: str, more: str = "", *, size: int = _SIZE) -> None:
        more = f" {more}" if more else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="currentColor"{more}>'
            f"{escape(text)}</text>"
        )

    def _describe(self) -> str:
        """The diagram in words."""
        title = f"{printable(self.title)}: " if self.title else ""
        ranks = ", ".join(f"{printable(name)} {self.ranks[name]:.2f}" for name in self.order)
        words = [f"{title}average ranks, 1 is best: {ranks}."]
        if self.limit is not None:
            words.append(f"Critical difference {self.limit:.3f}.")
        if self.marked is not None:
            others = [printable(name) for name in self.order if name in self.marked]
            told = ", ".join(others) if others else "none"
            words.append(f"Different from {printable(self.control or '')}: {told}.")
        else:
            told = "; ".join(", ".join(map(printable, group)) for group in self.groups)
            words.append(f"No difference among: {told}." if told else "All methods differ.")
        return " ".join(words)


def _labelled_ranks(n: int, spacing: float) -> list[int]:
    """Ranks whose ticks have room for a number: the first, the last, round ones between."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, n) if s * spacing >= _TICK_ROOM or s == n)
    inner = [rank for rank in range(step, n, step) if rank > 1]
    return [
        1,
        *(rank for rank in inner if min(rank - 1, n - rank) * spacing >= _TICK_ROOM),
        n,
    ]
