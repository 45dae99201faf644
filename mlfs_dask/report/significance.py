"""The tests of a run as a report shows them: rank tables, verdicts, diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from mlfs_dask.jobs.results import Run
from mlfs_dask.report import verdicts, words
from mlfs_dask.report.critical_difference import Diagram, critical_difference_diagram
from mlfs_dask.report.downloads import csv_link

_ROWS_SHOWN: Final = 12
_PAIRS_SHOWN: Final = 60
_DIAGRAMS_SHOWN: Final = 24


@dataclass(frozen=True)
class RankCell:
    """The result of a method on one row, with its rank."""

    value: str
    rank: str
    is_best: bool


@dataclass(frozen=True)
class RankRow:
    """A method with its average rank; its cells are empty where there are too many to show."""

    method: str
    average_rank: str
    is_control: bool
    cells: tuple[RankCell, ...]


@dataclass(frozen=True)
class PairRow:
    """Two methods compared."""

    first: str
    second: str
    measured: str
    p_value: str
    adjusted: str
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """One test with all that belongs to it; `problem` says why there is none."""

    metric: str
    better: str
    where: str
    problem: str
    row_names: tuple[str, ...]
    n_rows: int
    methods: tuple[RankRow, ...]
    test: str
    post_hoc: str
    verdict: str
    differences: tuple[str, ...]
    measured: str
    pairs: tuple[PairRow, ...]
    more_pairs: int
    cautions: tuple[str, ...]
    diagram: Diagram | None
    csv: str

    @property
    def drawing(self) -> Markup:
        """The diagram for the page; names in it are escaped."""
        return Markup("" if self.diagram is None else self.diagram.inline())


@dataclass(frozen=True)
class Comparisons:
    """All tests of a run."""

    rows: str
    columns: str
    at: str
    control: str
    tests: tuple[Comparison, ...]

    @property
    def shown(self) -> tuple[Comparison, ...]:
        """Those whose diagrams are shown."""
        return tuple(test for test in self.tests if test.diagram is not None)[:_DIAGRAMS_SHOWN]

    @property
    def more(self) -> int:
        """How many diagrams are left out."""
        drawn = sum(test.diagram is not None for test in self.tests)
        return drawn - len(self.shown)


def comparison_section(run: Run) -> Comparisons | None:
    """What a report says about the tests of a run; None if it has none.

    Parameters
    ----------
    run
        A run with results.
    """
    document = run.tests
    if document is None or not document["comparisons"]:
        return None
    compare = document["compare"]
    return Comparisons(
        rows="data sets" if compare["over"] == "datasets" else "folds",
        columns=compare["of"],
        at=verdicts.point_words(compare["at"]),
        control=words.selector_words(compare["control"] or ""),
        tests=tuple(_comparison(each, compare) for each in document["comparisons"]),
    )


def draw_comparison(
    document: dict[str, Any], *, width: int = 360, title: str = ""
) -> Diagram | None:
    """The critical-difference diagram of a comparison; None if there was no test.

    Parameters
    ----------
    document
        A comparison as ``tests.json`` has it.
    width
        Of the picture.
    title
        Line above it.
    """
    post_hoc = document["post_hoc"]
    if post_hoc is None:
        return None
    shown = {label: verdicts.method_words(document, label) for label in document["methods"]}
    control = post_hoc["control"]
    differing = [
        shown[name]
        for pair in post_hoc["pairs"]
        if pair["significant"]
        for name in (pair["first"], pair["second"])
        if name != control
    ]
    return critical_difference_diagram(
        list(shown.values()),
        document["average_ranks"],
        post_hoc["critical_difference"],
        groups=[[shown[name] for name in group] for group in post_hoc["groups"]],
        control=None if control is None else shown[control],
        differing=differing,
        title=title,
        width=width,
    )


def _comparison(document: dict[str, Any], compare: dict[str, Any]) -> Comparison:
    tested = document["test"] is not None
    pairs = _pairs(document) if tested else []
    many = len(document["rows"]) > _ROWS_SHOWN
    return Comparison(
        metric=words.metric_words(document["metric"]),
        better=words.direction_words(document["higher_is_better"]),
        where=verdicts.where_words(document),
        problem=document["problem"] or "",
        row_names=() if many else _kept(document),
        n_rows=len(document["rows"]) - len(document["dropped"]),
        methods=_rank_rows(document, many=many) if tested else (),
        test=verdicts.test_words(document) if tested else "",
        post_hoc=verdicts.post_hoc_words(document) if tested else "",
        verdict=verdicts.verdict_words(document) if tested else "",
        differences=tuple(verdicts.difference_words(document)) if tested else (),
        measured="rank sums" if compare["test"] == "wilcoxon" else "difference of ranks",
        pairs=tuple(pairs[:_PAIRS_SHOWN]),
        more_pairs=max(0, len(pairs) - _PAIRS_SHOWN),
        cautions=tuple(verdicts.caution_words(document, compare)),
        diagram=draw_comparison(document),
        csv=_csv(document) if tested else "",
    )


def _csv(document: dict[str, Any]) -> str:
    """Values and ranks, a row for each row of the test and method."""
    kept = set(_kept(document))
    values = [(row, v) for row, v in zip(document["rows"], document["values"], strict=True)]
    ranked = zip((pair for pair in values if pair[0] in kept), document["ranks"], strict=True)
    return csv_link(
        ("row", "method", "value", "rank", "average_rank"),
        [
            (row, document["methods"][j], of_row[j], ranks[j], document["average_ranks"][j])
            for (row, of_row), ranks in ranked
            for j in range(len(ranks))
        ],
    )


def _kept(document: dict[str, Any]) -> tuple[str, ...]:
    """Names of the rows that were ranked."""
    return tuple(row for row in document["rows"] if row not in document["dropped"])


def _rank_rows(document: dict[str, Any], *, many: bool) -> tuple[RankRow, ...]:
    """The methods, best first."""
    kept = set(_kept(document))
    values = [v for row, v in zip(document["rows"], document["values"], strict=True) if row in kept]
    averages = document["average_ranks"]
    rows = []
    for column in sorted(range(len(averages)), key=lambda j: (averages[j], j)):
        label = document["methods"][column]
        cells = () if many else _cells(values, document["ranks"], column)
        rows.append(
            RankRow(
                method=verdicts.method_words(document, label),
                average_rank=f"{averages[column]:.2f}",
                is_control=label == document["post_hoc"]["control"],
                cells=cells,
            )
        )
    return tuple(rows)


def _cells(
    values: Sequence[Sequence[float]], ranks: Sequence[Sequence[float]], column: int
) -> tuple[RankCell, ...]:
    return tuple(
        RankCell(f"{of_row[column]:.4f}", f"{rank[column]:g}", rank[column] == min(rank))
        for of_row, rank in zip(values, ranks, strict=True)
    )


def _pairs(document: dict[str, Any]) -> list[PairRow]:
    """The pairs, the surest difference first."""
    found = sorted(document["post_hoc"]["pairs"], key=lambda pair: pair["adjusted_p_value"])
    return [
        PairRow(
            first=verdicts.method_words(document, pair["first"]),
            second=verdicts.method_words(document, pair["second"]),
            measured=_measured(pair),
            p_value=f"{pair['p_value']:.3g}",
            adjusted=f"{pair['adjusted_p_value']:.3g}",
            verdict="differ" if pair["significant"] else "",
        )
        for pair in found
    ]


def _measured(pair: dict[str, Any]) -> str:
    if "difference" in pair:
        return f"{pair['difference']:+.2f}"
    return f"{pair['first_better']:g} : {pair['second_better']:g}"
