"""Links from page to page: always relative, so that they hold behind any proxy and prefix."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

MOUNT: Final = "mlfs"
"""Last part of the path of the list of runs; all other pages lie below it."""


def base_of(path: str) -> str:
    """What leads from a page to the folder of all pages.

    Parameters
    ----------
    path
        Of the page, below the mount point: as the browser sees it, with or without a last slash.

    Examples
    --------
    >>> base_of(""), base_of("/"), base_of("/runs/x"), base_of("/runs/x/")
    ('mlfs/', './', '../', '../../')
    """
    if not path:
        return f"{MOUNT}/"
    return "../" * (path.count("/") - 1) or "./"


def page_of(run: str) -> str:
    """Page of a run, from the folder of all pages.

    Parameters
    ----------
    run
        Its key.

    Examples
    --------
    >>> page_of("a run-0123456789")
    'runs/a%20run-0123456789'
    """
    return f"runs/{quote(run, safe='')}"
