"""Problems of a job file, gathered so that all of them reach the user at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct

from mlfs_dask.errors import JobFileError, without_credentials
from mlfs_dask.wording import counted

_NAMED = 40  # names listed at most


class Problems:
    """Collects what is wrong with a job file.

    Parameters
    ----------
    file
        Name of the job file, for the messages.

    Examples
    --------
    >>> problems = Problems("job.toml")
    >>> problems.unknown_key("data", "stor", ["store", "impute"])
    >>> problems.found[0]
    "data.stor: unknown key; did you mean 'store'? Allowed here: store, impute"
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: dict[str, None] = {}

    @property
    def found(self) -> list[str]:
        """The problems in the order found, each once."""
        return list(self._found)

    def add(self, key: str, problem: str) -> None:
        """Note a problem.

        Parameters
        ----------
        key
            Path of the key, for example ``evaluate.split.folds``.
        problem
            What is wrong and what is allowed.
        """
        self._found[without_credentials(f"{key}: {problem}" if key else problem)] = None

    def wrong_value(self, key: str, value: Any, allowed: str) -> None:
        """Note a value of the wrong type or range.

        Parameters
        ----------
        key
            Path of the key.
        value
            As given.
        allowed
            What would be right, in words.
        """
        self.add(key, f"{shown(value)} is not allowed; expected {allowed}")

    def unknown_key(
        self,
        table: str,
        key: str,
        known: Iterable[str],
        *,
        place: str | None = None,
        near: Sequence[str] = (),
    ) -> None:
        """Note a key that does not exist.

        Parameters
        ----------
        table
            Path of the table it stands in, empty at the top.
        key
            As given.
        known
            Keys allowed there.
        place
            Path of the key where it is not the table's with the key.
        near
            Where to look for the nearest key; by default among those known.
        """
        known = list(known)
        self.add(
            place or joined(table, key),
            f"unknown key{_nearest(key, near or known)} Allowed here: {_some(known)}",
        )

    def unknown_name(self, key: str, value: str, kind: str, known: Iterable[str]) -> None:
        """Note a name that nothing is registered under.

        Parameters
        ----------
        key
            Path of the key.
        value
            The name given.
        kind
            What was expected, for example ``"selector"``.
        known
            Names there are.
        """
        known = list(known)
        self.add(key, f"no {kind} is named {value!r}{_nearest(value, known)} Known: {_some(known)}")

    def check(self) -> None:
        """Raise if there are problems.

        Raises
        ------
        JobFileError
            Lists them all.
        """
        if not self._found:
            return
        count = counted(len(self._found), "problem")
        lines = "".join(f"\n  {problem}" for problem in self._found)
        raise JobFileError(
            f"{self.file}: {count}{lines}", file=self.file, problems=tuple(self.found)
        )


def joined(table: str, key: str | int) -> str:
    """Path of a key below a table.

    Parameters
    ----------
    table
        Path of the table, empty at the top.
    key
        Name or position.
    """
    name = '""' if key == "" else str(key)
    return f"{table}.{name}" if table else name


def shown(value: Any) -> str:
    """A value as the user wrote it, shortened.

    Parameters
    ----------
    value
        Value of a TOML key.
    """
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def in_words(hint: Any) -> str:
    """What a type allows, in words.

    Parameters
    ----------
    hint
        A type as annotated, with msgspec constraints.

    Examples
    --------
    >>> in_words(Literal["a", "b"] | float)
    "'a', 'b' or a number"
    """
    return _phrase(hint, ())


def _phrase(hint: Any, limits: tuple[Any, ...]) -> str:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        return _phrase(inner, tuple(m for m in metadata if isinstance(m, Meta)))
    if origin in (Union, UnionType, Literal):
        return _listed(_alternatives(hint, limits))
    if origin in (tuple, list):
        item = next((a for a in get_args(hint) if a is not Ellipsis), Any)
        return f"a list, each item {_phrase(item, ())}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    is_table = dict in (origin, hint) or (isinstance(hint, type) and issubclass(hint, Struct))
    name = names.get(hint, "a table" if is_table else "another value")
    return name + "".join(_limits(meta) for meta in limits)


def _alternatives(hint: Any, limits: tuple[Any, ...]) -> list[str]:
    if get_origin(hint) is Literal:
        return [shown(value) for value in get_args(hint)]
    if get_origin(hint) not in (Union, UnionType):
        return [_phrase(hint, limits)]
    members = [m for m in get_args(hint) if m is not NoneType]
    phrases = list(dict.fromkeys(p for m in members for p in _alternatives(m, limits)))
    if "a whole number" in phrases and "a number" in phrases:
        phrases.remove("a whole number")
    return phrases


def _limits(meta: Meta) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds = [
        f"{word} {getattr(meta, name)}"
        for name, word in words.items()
        if getattr(meta, name) is not None
    ]
    if meta.pattern is not None:
        bounds.append((meta.extra or {}).get("words", f"matching {meta.pattern}"))
    return f" ({', '.join(bounds)})" if bounds else ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _nearest(given: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else "."
