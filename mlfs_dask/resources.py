"""Where the declarations (job files, catalogue, layout) are: the wheel's copy or the checkout's."""

from __future__ import annotations

from pathlib import Path

from mlfs_dask.errors import NotFoundError

_PACKAGE = Path(__file__).resolve().parent


def declaration(relative: str) -> Path:
    """Path of a file or folder of the top-level declarations.

    Looks inside the installed package first (the wheel carries copies under ``_declarations``),
    then beside it (an editable install or a checkout).

    Parameters
    ----------
    relative
        For example ``"jobs/quickstart.toml"`` or ``"storage/catalogue"``.

    Raises
    ------
    NotFoundError
        Neither place has it.
    """
    for base in (_PACKAGE / "_declarations", _PACKAGE.parent):
        path = base / relative
        if path.exists():
            return path
    raise NotFoundError(
        f"{relative} is neither inside the installed package nor beside it",
        hint="Reinstall mlfs-dask, or give the path of your own file.",
    )
