"""Pages and documents: what was read of runs and cluster, as HTML and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec
from jinja2 import Environment
from msgspec import Struct

from mlfs_dask import __version__
from mlfs_dask.dashboard.links import page_of
from mlfs_dask.dashboard.listing import STATES, Listing, RunRow
from mlfs_dask.dashboard.view import Drawn
from mlfs_dask.dashboard.workers import Cluster
from mlfs_dask.jobs.sizes import show_bytes, show_seconds
from mlfs_dask.report import words
from mlfs_dask.report.page import make_environment

ROWS_PER_PAGE: Final = 100


class Asked(Struct, frozen=True, kw_only=True):
    """What part of the list is wanted.

    Attributes
    ----------
    state
        Only runs in this state; empty: in any.
    text
        Only runs whose id or data sets contain it.
    page
        From 1.
    """

    state: str = ""
    text: str = ""
    page: int = 1


class Frame(Struct, frozen=True, kw_only=True):
    """What all pages have in common.

    Attributes
    ----------
    base
        Leads from the page to the folder of all pages; see `mlfs_dask.dashboard.links`.
    dask
        Path of Dask's own pages from there; None where they are not served.
    note
        What the user should know of this dashboard; empty if nothing.
    """

    base: str
    dask: str | None
    note: str = ""


def picked(rows: Sequence[RunRow], asked: Asked) -> list[RunRow]:
    """Rows that are wanted, of all pages.

    Parameters
    ----------
    rows
        All runs.
    asked
        What is wanted.
    """
    text = asked.text.casefold()
    return [
        row
        for row in rows
        if asked.state in ("", row.state)
        and (not text or any(text in name.casefold() for name in (row.run, *row.datasets)))
    ]


def runs_page(listing: Listing, cluster: Cluster, asked: Asked, frame: Frame) -> str:
    """The list of runs as HTML.

    Parameters
    ----------
    listing, cluster
        What there is.
    asked
        What is wanted of it.
    frame
        Links and notes.
    """
    rows = picked(listing.rows, asked)
    n_pages = max(1, math.ceil(len(rows) / ROWS_PER_PAGE))
    page = min(asked.page, n_pages)
    first = (page - 1) * ROWS_PER_PAGE
    return _render(
        "runs.html",
        frame,
        refresh=5,
        listing=listing,
        cluster=cluster,
        asked=asked,
        rows=rows[first : first + ROWS_PER_PAGE],
        n_rows=len(rows),
        page=page,
        n_pages=n_pages,
        states=STATES,
    )


def run_page(drawn: Drawn, cluster: Cluster, frame: Frame) -> str:
    """A run as HTML.

    Parameters
    ----------
    drawn
        The run.
    cluster
        The cluster that it may run on.
    frame
        Links and notes.
    """
    return _render(
        "run.html",
        frame,
        refresh=2 if drawn.view.is_at_work else 15,
        run=drawn,
        view=drawn.view,
        cluster=cluster,
    )


def message_page(title: str, text: str, frame: Frame, *, refresh: int = 0) -> str:
    """A page that only says something.

    Parameters
    ----------
    title, text
        What it says.
    frame
        Links and notes.
    refresh
        Seconds after which it is asked for again; 0: never.
    """
    return _render("message.html", frame, refresh=refresh, title=title, text=text)


def style_sheet() -> str:
    """The style of all pages: that of the reports, and a little more."""
    environment = _environment()
    return "".join(
        environment.get_template(name).render() for name in ("report.css", "dashboard.css")
    )


def script() -> str:
    """The script that brings a page up to date without loading it anew."""
    return _environment().get_template("refresh.js").render()


def runs_document(listing: Listing, cluster: Cluster, asked: Asked) -> dict[str, Any]:
    """The list of runs as plain values.

    Parameters
    ----------
    listing, cluster
        What there is.
    asked
        What is wanted of it; all pages are given.
    """
    facts: dict[str, Any] = msgspec.to_builtins(listing)
    rows = [msgspec.to_builtins(row) for row in picked(listing.rows, asked)]
    del facts["rows"], facts["missing"]
    return {**facts, "runs": rows, "cluster": msgspec.to_builtins(cluster)}


def run_document(drawn: Drawn, cluster: Cluster) -> dict[str, Any]:
    """A run as plain values.

    Parameters
    ----------
    drawn
        The run.
    cluster
        The cluster that it may run on.
    """
    return {**msgspec.to_builtins(drawn.view), "cluster": msgspec.to_builtins(cluster)}


def as_json(document: Any) -> str:
    """A document as JSON that any reader takes: a number that is not finite is null.

    Parameters
    ----------
    document
        Plain values.

    Examples
    --------
    >>> as_json({"left": float("inf"), "done": [1]})
    '{"left": null, "done": [1]}'
    """
    return json.dumps(_finite(document), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _render(name: str, frame: Frame, *, refresh: int, **facts: Any) -> str:
    template = _environment().get_template(name)
    return template.render(frame=frame, refresh=refresh, version=__version__, **facts)


@cache
def _environment() -> Environment:
    environment = make_environment("mlfs_dask.dashboard", "mlfs_dask.report")
    environment.filters.update(
        size=show_bytes,
        seconds=show_seconds,
        score=words.score_words,
        moment=_moment,
        page_of=page_of,
    )
    return environment


def _moment(time: str) -> str:
    """A time in ISO 8601 for people; all are UTC."""
    return time[:19].replace("T", " ")
