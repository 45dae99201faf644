"""``[sweep]``: a grid over keys of the selectors and classifiers, laid out as plain entries.

``"select.0.radius_divisor" = [1.0, 1.1]`` makes two entries of the first ``[[select]]``, whose
labels end in " [radius_divisor=1.0]" and " [radius_divisor=1.1]". Keys of the same entry are
combined, each value of one with each of the other.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mlfs_dask import registry
from mlfs_dask.errors import PluginError
from mlfs_dask.jobs.declared import declared
from mlfs_dask.jobs.problems import Problems, joined

_KEY: Final = re.compile(r"(select|evaluate\.classifier)\.([0-9]{1,9})\.(.+)")
SWEPT: Final[dict[str, registry.Kind]] = {
    "select": "selectors",
    "evaluate.classifier": "classifiers",
}
"""Lists whose entries may be swept -> what they are lists of."""
_FORMS: Final = ("select.N.KEY", "evaluate.classifier.N.KEY")
_POINTS_AT_MOST: Final = 10_000


@dataclass(frozen=True)
class Entry:
    """A ``[[select]]`` or ``[[evaluate.classifier]]``, or one point of a sweep over it.

    Attributes
    ----------
    raw
        Its keys, with the values of the point.
    place
        Path of the entry in the file, for messages.
    swept
        Key -> where its value stands, and the value's text in the label.
    order
        1 or 2 for one of the two that an entry with ``order = "auto"`` became.
    """

    raw: dict[str, Any]
    place: str
    swept: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    order: int | None = None

    def at(self, key: str) -> str:
        """Path of a key, for messages.

        Parameters
        ----------
        key
            Of the entry.
        """
        return self.swept[key][0] if key in self.swept else joined(self.place, key)

    def label(self, base: str) -> str:
        """Label of the entry.

        Parameters
        ----------
        base
            Label without the sweep.

        Examples
        --------
        >>> Entry({}, "select.0", {"phi": ("", "1"), "impute": ("", "mean")}).label("spec")
        'spec [phi=1, impute=mean]'
        >>> Entry({}, "select.0", order=2).label("spec-wrapper")
        'spec-wrapper [order 2]'
        """
        if self.swept:
            texts = (f"{key}={text}" for key, (_, text) in self.swept.items())
            base = f"{base} [{', '.join(texts)}]"
        return base if self.order is None else f"{base} [order {self.order}]"


@dataclass(frozen=True)
class _Axis:
    """A key with the values it takes; of each value its place and its text in the label."""

    key: str
    values: list[tuple[Any, str, str]]


def entry_of(key: str) -> str:
    """The entry that a key of a sweep belongs to.

    Parameters
    ----------
    key
        Full key.

    Examples
    --------
    >>> entry_of("evaluate.classifier.0.n_neighbors")
    'evaluate.classifier.0'
    """
    match = _KEY.fullmatch(key)
    assert match is not None
    return f"{match[1]}.{match[2]}"


def expand_sweep(raw: dict[str, Any], problems: Problems) -> None:
    """Put entries in place of the tables of selectors and classifiers, one per point of the sweep.

    Parameters
    ----------
    raw
        The whole job file; changed in place: lists of tables become lists of `Entry`, ``sweep``
        maps each full key to its values.
    problems
        Takes what cannot be swept.
    """
    declared = raw.get("sweep", {})
    if not isinstance(declared, dict):
        problems.wrong_value("sweep", declared, "a table")
        declared = {}
    tables = {path: _tables(raw, path) for path in SWEPT}
    axes: dict[tuple[str, int], list[_Axis]] = {}
    kept: dict[str, Any] = {}
    for full, values in _flattened(declared):
        found = _read_axis(full, values, tables, problems)
        if full in kept:
            problems.add(_place(full), "is there twice, in quotes and without; leave one out")
        elif found is not None:
            axes.setdefault(found[0], []).append(found[1])
            kept[full] = values
    _refuse_too_many(axes, problems)
    for path, entries in tables.items():
        if entries is not None:
            _parent(raw, path)[path.rpartition(".")[2]] = [
                point
                for position, entry in enumerate(entries)
                for point in _points(entry, joined(path, position), axes.get((path, position), []))
            ]
    if "sweep" in raw:
        raw["sweep"] = kept


def _flattened(declared: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Full keys, written in quotes or not: TOML makes tables of a key without quotes."""
    for key, value in declared.items():
        full = joined(above, key)
        if isinstance(value, dict) and value:
            yield from _flattened(value, full)
        else:
            yield full, value


def _parent(raw: dict[str, Any], path: str) -> Any:
    return raw.get("evaluate") if path.startswith("evaluate.") else raw


def _tables(raw: dict[str, Any], path: str) -> list[dict[str, Any]] | None:
    """The tables that may be swept; None where there are none or something else stands there."""
    parent = _parent(raw, path)
    found = parent.get(path.rpartition(".")[2]) if isinstance(parent, dict) else None
    is_tables = isinstance(found, list) and all(isinstance(item, dict) for item in found)
    return found if is_tables else None


def _place(full: str) -> str:
    return f'sweep."{full}"'


def _read_axis(
    full: str, values: Any, tables: Mapping[str, Any], problems: Problems
) -> tuple[tuple[str, int], _Axis] | None:
    """Entry and values of a key; None after noting a problem."""
    place = _place(full)
    match = _KEY.fullmatch(full)
    if match is None:
        problems.unknown_key("sweep", full, _FORMS, place=place, near=list(_known(tables)))
        return None
    path, position, key = match[1], int(match[2]), match[3]
    entries = tables[path] or []
    if position >= len(entries):
        last = f"a position from 0 to {len(entries) - 1}" if entries else f"a [[{path}]] first"
        problems.add(place, f"there is no {path}.{position}; expected {last}")
        return None
    known = _keys(path, entries[position])
    if known is not None and key not in known:
        problems.unknown_key(path, key, known, place=place)
        return None
    if not isinstance(values, list) or not values:
        problems.wrong_value(place, values, "a list of at least one value")
        return None
    texts: dict[str, int] = {}
    points = []
    for number, value in enumerate(values):
        at = f"{place}.{number}"
        text, bare = _labelled(value, number, at, problems)
        if text in texts:
            problems.add(at, f"{text} is there twice, see {place}.{texts[text]}; leave one out")
        texts.setdefault(text, number)
        points.append((bare, at, text))
    return (path, position), _Axis(key, points)


def _known(tables: Mapping[str, Any]) -> Iterator[str]:
    """All full keys that this job could sweep."""
    for path, entries in tables.items():
        for position, entry in enumerate(entries or []):
            yield from (f"{path}.{position}.{key}" for key in _keys(path, entry) or [])


def _keys(path: str, entry: dict[str, Any]) -> list[str] | None:
    """Keys of an entry that may be swept; None if its method is unknown."""
    try:
        options = list(declared(SWEPT[path], entry["method"]).options)
    except (PluginError, KeyError, TypeError):
        return None
    return [*options, "prefilter"] if path == "select" else options


def _refuse_too_many(axes: dict[tuple[str, int], list[_Axis]], problems: Problems) -> None:
    for (path, position), own in list(axes.items()):
        n_points = math.prod(len(axis.values) for axis in own)
        if n_points > _POINTS_AT_MOST:
            problems.add(
                "sweep",
                f"{n_points} points of {path}.{position} are not allowed; expected at most "
                f"{_POINTS_AT_MOST}",
            )
            del axes[path, position]


def _labelled(value: Any, number: int, place: str, problems: Problems) -> tuple[str, Any]:
    """Text of a value in the label, and the value."""
    if isinstance(value, dict):
        label = value.get("label", str(number))
        if not isinstance(label, str):
            problems.wrong_value(f"{place}.label", label, "a string")
        return str(label), {key: item for key, item in value.items() if key != "label"}
    if isinstance(value, bool):
        return str(value).lower(), value
    return str(value), value


def _points(entry: dict[str, Any], place: str, axes: list[_Axis]) -> Iterator[Entry]:
    for point in itertools.product(*(axis.values for axis in axes)):
        chosen = list(zip(axes, point, strict=True))
        yield Entry(
            raw={**entry, **{axis.key: value for axis, (value, _, _) in chosen}},
            place=place,
            swept={axis.key: (at, text) for axis, (_, at, text) in chosen},
        )
