"""Reading tables of a job file: the values that are right, a problem for each that is not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from mlfs_dask.jobs.problems import Problems, in_words, joined

WRONG: Final = object()
"""Takes the place of a value that is not right."""
_POSITION: Final = re.compile(r" - at `\$\[(\d+)\]`$")

Reader = Callable[[Any, str, Problems], Any]
"""Reads a value: the value, the path of its key, where problems go."""


@cache
def fields_of(table: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """Keys of a table.

    Parameters
    ----------
    table
        A struct of `mlfs_dask.jobs.spec`.
    """
    return {field.name: field for field in msgspec.structs.fields(table)}


def read_table(
    table: type[msgspec.Struct],
    raw: Any,
    path: str,
    problems: Problems,
    readers: Mapping[str, Reader] | None = None,
) -> dict[str, Any]:
    """The values of a table that are right.

    Parameters
    ----------
    table
        What it may hold.
    raw
        As TOML has it.
    path
        Of its key.
    problems
        Takes what is wrong.
    readers
        For keys that are more than one value of a type.

    Returns
    -------
    dict
        Plain values; a value that is wrong is `WRONG`.
    """
    if not isinstance(raw, dict):
        problems.wrong_value(path, raw, "a table")
        return {}
    fields, readers = fields_of(table), readers or {}
    clean = {}
    for key, value in raw.items():
        place = joined(path, key)
        if key not in fields:
            problems.unknown_key(path, key, fields)
        elif key in readers:
            clean[key] = readers[key](value, place, problems)
        else:
            clean[key] = read_value(fields[key].type, value, place, problems)
    for key, field in fields.items():
        if field.required and key not in raw:
            problems.add(joined(path, key), f"missing; expected {in_words(field.type)}")
    return clean


def read_value(hint: Any, value: Any, place: str, problems: Problems) -> Any:
    """A value in the type declared: 1 for a number becomes 1.0.

    Parameters
    ----------
    hint
        The type, with msgspec's constraints.
    value
        From TOML.
    place
        Path of its key.
    problems
        Takes what is wrong.

    Returns
    -------
    object
        `WRONG` if it is not of the type.

    Examples
    --------
    >>> problems = Problems("job.toml")
    >>> read_value(tuple[int, ...], [1, 2.5], "counts", problems) is WRONG
    True
    >>> problems.found
    ['counts.1: 2.5 is not allowed; expected a list, each item a whole number']
    """
    try:
        read = msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        # A message such as "Expected `float` > 0.0 - at `$[2]`" says which item of a list it is.
        position = _POSITION.search(str(error))
        where = f"{place}.{position[1]}" if position else place
        problems.wrong_value(where, value[int(position[1])] if position else value, in_words(hint))
        return WRONG
    if not _is_finite(value):
        problems.wrong_value(place, value, "finite numbers")
        return WRONG
    return read


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)
