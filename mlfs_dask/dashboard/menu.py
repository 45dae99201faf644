"""What is not public of Dask's dashboard: its menu, and the prefix of its paths."""

from __future__ import annotations

from typing import Any, Final

from mlfs_dask.dashboard.links import MOUNT

_ALWAYS_THERE: Final = "health"  # Dask serves this path with and without bokeh


def add_link(scheduler: Any) -> bool:
    """Put the runs into the menu of Dask's own pages.

    Parameters
    ----------
    scheduler : distributed.Scheduler
        The scheduler.

    Returns
    -------
    bool
        False where Dask serves no such pages: bokeh is missing, or they are turned off.
    """
    if not _has_dask_pages(scheduler):
        return False
    pages = _pages(scheduler)
    if MOUNT not in pages:
        pages.append(MOUNT)
    return True


def remove_link(scheduler: Any) -> None:
    """Take the runs out of the menu again.

    Parameters
    ----------
    scheduler : distributed.Scheduler
        The scheduler.
    """
    if _has_dask_pages(scheduler) and MOUNT in (pages := _pages(scheduler)):
        pages.remove(MOUNT)


def _pages(scheduler: Any) -> list[str]:
    from distributed.dashboard.scheduler import template_variables

    pages: list[str] = template_variables(scheduler)["pages"]  # one list for all, made once
    return pages


def _has_dask_pages(scheduler: Any) -> bool:
    applications = scheduler.http_application.applications
    return any(
        "bokeh" in type(each).__module__ or hasattr(each, "app_paths") for each in applications
    )


def prefix_of(scheduler: Any) -> str:
    """Prefix of all paths of a scheduler (``--dashboard-prefix``), with slashes around it.

    Parameters
    ----------
    scheduler : distributed.Scheduler
        The scheduler.
    """
    ending = f"/{_ALWAYS_THERE}$"
    for rule in scheduler.http_application.wildcard_router.rules:
        pattern = getattr(getattr(rule.matcher, "regex", None), "pattern", "")
        if pattern.endswith(ending):
            return f"{pattern.removesuffix(ending)}/"
    return "/"
