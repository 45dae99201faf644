"""``mlfs compare``: tests of significance over runs, and critical-difference diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.output import json_option, print_json, print_table
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place

_ROWS_SHOWN = 6


def _point(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """``20%`` or ``0.2``: a share; ``10``: a number of features; ``best``; ``selected``."""
    if value is None or value in ("best", "selected"):
        return value
    text = value.strip()
    try:
        if text.endswith("%"):
            return {"fraction": _within(float(text[:-1]) / 100)}
        if "." in text:
            return {"fraction": _within(float(text))}
        count = int(text)
        if count < 1:
            raise ValueError
        return {"count": count}
    except ValueError:
        raise click.BadParameter(
            f"{value!r}; expected a share (20% or 0.2), a number of features (10), best or selected"
        ) from None


def _within(share: float) -> float:
    if not 0 < share <= 1:
        raise ValueError
    return round(share, 12)


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--metric", "metrics", multiple=True, help="Measure; may be given again. Default: the job's."
)
@click.option(
    "--at", callback=_point, help="Point of the curves: 20%, 0.2, 10 (features), best, selected."
)
@click.option("--over", type=click.Choice(["datasets", "folds"]), help="Rows of the table.")
@click.option("--of", type=click.Choice(["selectors", "classifiers"]), help="Columns of the table.")
@click.option("--label", "labels", multiple=True, help="Method to compare; may be given again.")
@click.option("--control", help="Method that all others are compared with; 'all': all features.")
@click.option(
    "--test",
    type=click.Choice(["friedman", "wilcoxon"]),
    help="See `mlfs methods tests`.  [default: friedman]",
)
@click.option(
    "--post-hoc",
    type=click.Choice(["nemenyi", "bonferroni-dunn", "holm"]),
    help="After friedman nemenyi, with a control bonferroni-dunn; after wilcoxon holm.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Level of the tests.  [default: 0.05]",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    help="Refuse a table with a missing cell, or drop its row.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="SVG file for the critical-difference diagrams.",
)
@runs_option
@json_option
def compare(
    names: tuple[str, ...], output: Path | None, runs: Place, as_json: bool, **options: Any
) -> None:
    """Test whether methods differ, over the data sets of one or several runs.

    What is not said is taken from the [compare] table of the (first) run's job, or from what
    there is: rows are the data sets, or the folds of a single one; columns are the selectors, or
    the classifiers if there is one selector.

    \b
    Example:
      mlfs compare study --metric average_precision --at 20% -o ranks.svg
      mlfs compare emotions yeast scene --metric hamming_loss --at best --control MLLAP --alpha 0.1
    """
    from mlfs_dask.jobs.compare_runs import compare_runs
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run

    chosen = {key: value for key, value in options.items() if value not in (None, ())}
    document = compare_runs([Run(find_run(name, runs)) for name in names], chosen)
    _refuse_if_nothing_was_tested(document)
    written = None if output is None else _write(document, output)
    if as_json:
        print_json({**document, "file": written})
        return
    for position, comparison in enumerate(document["comparisons"]):
        if position:
            click.echo()
        _print_comparison(comparison, document["compare"])
    if written is not None:
        click.echo(f"\ndiagram: {written}")


def _refuse_if_nothing_was_tested(document: dict[str, Any]) -> None:
    from mlfs_dask.errors import InputError

    problems = [comparison["problem"] for comparison in document["comparisons"]]
    if not problems:
        raise InputError("the runs have no result of these methods")
    if None not in problems:
        raise InputError(
            f"nothing could be tested: {problems[0]}",
            hint="--missing drop leaves out rows with a missing cell; --label names the methods.",
            problems=problems,
        )


def _write(document: dict[str, Any], output: Path) -> str:
    from mlfs_dask.jobs.rundir import write_bytes
    from mlfs_dask.report.rank_drawing import stacked
    from mlfs_dask.report.significance import draw_comparison
    from mlfs_dask.storage.atomic import make_parent

    drawn = [draw_comparison(c, width=560, title=_title(c)) for c in document["comparisons"]]
    make_parent(output)
    write_bytes(output, stacked([diagram for diagram in drawn if diagram is not None]).encode())
    return str(output.absolute())


def _title(comparison: dict[str, Any]) -> str:
    from mlfs_dask.report.verdicts import where_words

    return f"{comparison['metric'].replace('_', ' ')}, {where_words(comparison)}"


def _print_comparison(comparison: dict[str, Any], compare: dict[str, Any]) -> None:
    from mlfs_dask.report import verdicts

    better = "higher" if comparison["higher_is_better"] else "lower"
    at = verdicts.point_words(compare["at"])
    click.echo(f"{_title(comparison)}, {at} ({better} is better)\n")
    if comparison["problem"] is not None:
        click.echo(f"Not tested: {comparison['problem']}")
        return
    _print_ranks(comparison)
    click.echo(f"\n{verdicts.test_words(comparison)}")
    click.echo(verdicts.post_hoc_words(comparison))
    for sentence in verdicts.difference_words(comparison):
        click.echo(f"  {sentence}")
    for group in comparison["post_hoc"]["groups"]:
        shown = ", ".join(verdicts.method_words(comparison, name) for name in group)
        click.echo(f"  no difference among {shown}")
    for sentence in verdicts.caution_words(comparison, compare):
        click.echo(sentence)


def _print_ranks(comparison: dict[str, Any]) -> None:
    """Methods, best first, with their values and ranks where these are few."""
    from mlfs_dask.report.verdicts import method_words

    averages = comparison["average_ranks"]
    kept = [row for row in comparison["rows"] if row not in comparison["dropped"]]
    values = dict(zip(comparison["rows"], comparison["values"], strict=True))
    shown = kept if len(kept) <= _ROWS_SHOWN else []
    table = []
    for column in sorted(range(len(averages)), key=lambda j: (averages[j], j)):
        cells = [
            f"{values[row][column]:.4f} ({comparison['ranks'][i][column]:g})"
            for i, row in enumerate(shown)
        ]
        name = method_words(comparison, comparison["methods"][column])
        table.append((name, f"{averages[column]:.2f}", *cells))
    rows = "" if shown else f" over {counted(len(kept), 'row')}"
    print_table(table, ("method", f"average rank{rows}", *shown))
