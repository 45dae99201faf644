"""``--set key=value``: change keys of a job file from outside."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any, Final

from mlfs_dask.jobs.problems import Problems

# A bare word, as shells leave it of --set data.store="emotions".
_WORD: Final = re.compile(r"[A-Za-z_./~][\w./~+-]*")
_SHOWN: Final = 60
_KEY: Final = re.compile(r'"([^"]*)"|([^.\s"]+)')


def apply_overrides(raw: dict[str, Any], overrides: Iterable[str], problems: Problems) -> None:
    """Put values into the raw tables of a job file, in order.

    Parameters
    ----------
    raw
        Changed in place.
    overrides
        ``key=value``: dotted key, positions count in lists (``select.0.phi``), TOML value; a bare
        word counts as a string.
    problems
        Takes what cannot be applied.

    Examples
    --------
    >>> raw = {"select": [{"method": "spec"}]}
    >>> apply_overrides(raw, ["select.0.phi=1", "name=demo"], Problems("job.toml"))
    >>> raw
    {'select': [{'method': 'spec', 'phi': 1}], 'name': 'demo'}
    """
    for text in overrides:
        key, equals, value = text.partition("=")
        path = _path(key)
        if not equals or not path:
            problems.add("", f"--set {text}: expected key=value, for example seed=1")
            continue
        try:
            parsed = _parse(value.strip())
        except (ValueError, RecursionError):
            shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
            problems.add("", f"--set {key}: {shown!r} is no TOML value; strings need quotes")
            continue
        _put(raw, path, parsed, text, problems)


def given_keys(overrides: Iterable[str], keys: Iterable[str]) -> set[str]:
    """Those of some keys to which overrides give a value, alone or with the table around them.

    Parameters
    ----------
    overrides
        As for `apply_overrides`.
    keys
        Dotted keys.

    Examples
    --------
    >>> given_keys(["data.costs=store"], ["data.costs", "evaluate.split.column"])
    {'data.costs'}
    """
    given = {".".join(_path(text.partition("=")[0])) for text in overrides}
    return {key for key in keys if any(f"{key}.".startswith(f"{each}.") for each in given if each)}


def _path(key: str) -> list[str]:
    return [quoted or bare for quoted, bare in _KEY.findall(key)]


def _parse(value: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        if _WORD.fullmatch(value):
            return value
        raise
    if len(parsed) > 1:
        raise ValueError("more than one value")
    return parsed["value"]


def is_position(part: str) -> bool:
    """Whether a part of a key is a position in a list: ASCII digits only."""
    return part.isascii() and part.isdigit()


def _put(raw: dict[str, Any], path: list[str], value: Any, text: str, problems: Problems) -> None:
    here: Any = raw
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        place = ".".join(path[: depth + 1])
        if isinstance(here, dict):
            if last:
                here[part] = value
                return
            here = here.setdefault(part, {})
        elif isinstance(here, list):
            if not is_position(part) or int(part) >= len(here):
                expected = f"a position from 0 to {len(here) - 1}" if here else "a list with items"
                problems.add("", f"--set {text}: {place}: expected {expected}")
                return
            if last:
                here[int(part)] = value
                return
            here = here[int(part)]
        else:
            problems.add("", f"--set {text}: {place} is inside a value, not a table")
            return
