"""What methods say about themselves, known without importing them.

A method's class brings scikit-learn and compiled kernels along, which takes longer than all else
that checking a job takes. What a check asks of the built-in ones is written down in
``declared.json``, printed from the classes by ``python -m mlfs_dask.jobs.declared``; plug-ins are
imported and asked.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from mlfs_dask import registry

_PLAIN: Final = (int, float, bool, str)
_NAMES: Final = {"int": int, "float": float, "bool": bool, "str": str, "null": NoneType}
_WORDS: Final = {kind: word for word, kind in _NAMES.items()}
# A store has its own tile; a job has a stream for every unit unless a seed is given.
_NOT_IN_JOBS: Final = frozenset({"tile"})
SEED: Final = "random_state"
_FILE: Final = Path(__file__).with_name("declared.json")


class Option(Struct, frozen=True):
    """One parameter of a method.

    Attributes
    ----------
    name
        As in the constructor.
    hint
        Type restricted to what TOML can say; ``Any`` where the signature says nothing.
    default
        The constructor's default.
    """

    name: str
    hint: Any
    default: Any

    def convert(self, value: Any) -> Any:
        """The value in the type declared: 1 for a number becomes 1.0.

        Parameters
        ----------
        value
            From TOML.

        Raises
        ------
        msgspec.ValidationError
            Not of the type.
        """
        return msgspec.convert(value, self.hint)


class Declared(Struct, frozen=True):
    """What checking a job asks of a method.

    Attributes
    ----------
    options
        Parameters that a job file may give, by name.
    follows_blocks
        The selector takes features as they come.
    takes_pairs
        The classifier takes features for pairs of labels.
    asks_of_features
        Parameters by which the selector asks something of the features themselves, unless they are
        None; empty: it always asks; None: it never does.
    takes_missing
        Whether the method has a rule for missing values that are not imputed; by base learner where
        that decides it. None: not written down.
    refuses_categories
        The method takes no nominal feature of more than two values.
    """

    options: dict[str, Option]
    follows_blocks: bool
    takes_pairs: bool
    asks_of_features: tuple[str, ...] | None
    takes_missing: bool | dict[str, bool] | None = None
    refuses_categories: bool = False


def declared(kind: registry.Kind, method: str) -> Declared:
    """What a registered method says about itself.

    Parameters
    ----------
    kind
        ``"selectors"`` or ``"classifiers"``.
    method
        Registered name.

    Raises
    ------
    PluginError
        No such name, or the plug-in behind it fails to import.

    Examples
    --------
    >>> declared("selectors", "spec").options["similarity"].default
    'jaccard'
    """
    known = _written().get(registry.names(kind).get(method, ""))
    return known if known is not None else _asked(kind, method)


@cache
def _asked(kind: registry.Kind, method: str) -> Declared:
    """Import a method and ask it."""
    constructor = registry.load(kind, method)
    hints = get_type_hints(constructor.__init__, include_extras=True)
    hints[SEED] = Annotated[int, msgspec.Meta(ge=0)]
    options = {
        name: Option(name, _in_toml(hints.get(name, Any)), parameter.default)
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in _NOT_IN_JOBS
    }
    return Declared(
        options=options,
        follows_blocks=bool(getattr(constructor, "follows_blocks", False)),
        takes_pairs=bool(getattr(constructor, "takes_pairs", False)),
        asks_of_features=tuple(getattr(constructor, "asks_of_features", ()))
        if hasattr(constructor, "check_features")
        else None,
        refuses_categories=bool(getattr(constructor, "refuses_categories", False)),
    )


def takes_missing(kind: registry.Kind, method: str, params: Mapping[str, Any]) -> bool:
    """Whether a method has a rule for missing values, imputation being one.

    Parameters
    ----------
    kind, method
        The method.
    params
        All of its parameters.

    Examples
    --------
    >>> takes_missing("selectors", "chi2", {"impute": "none"})
    False
    """
    rule = declared(kind, method).takes_missing
    if rule is None:
        return _allows_missing(registry.load(kind, method), params)
    if params.get("impute") == "mean":
        return True
    return rule[params["base"]] if isinstance(rule, dict) else rule


def _allows_missing(constructor: Any, params: Mapping[str, Any]) -> bool:
    """Whether an estimator says so by scikit-learn's tag; one without tags is let try."""
    tags = getattr(constructor(**params), "__sklearn_tags__", None)
    return tags is None or bool(tags().input_tags.allow_nan)


def _rule_for_missing(kind: registry.Kind, method: str) -> bool | dict[str, bool]:
    constructor, base = registry.load(kind, method), _asked(kind, method).options.get("base")
    if base is None:
        return _allows_missing(constructor, {})
    return {name: _allows_missing(constructor, {"base": name}) for name in get_args(base.hint)}


def _in_toml(hint: Any) -> Any:
    """The part of a type that TOML can say; ``Any`` where that would be nothing."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        return Annotated[_in_toml(inner), *metadata]
    if origin in (Union, UnionType):
        members = [m for m in get_args(hint) if m is NoneType or _sayable(m)]
        if not [m for m in members if m is not NoneType]:
            return Any
        return Union[tuple(members)]  # noqa: UP007  built from a run-time list
    return hint if _sayable(hint) else Any


def _sayable(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _sayable(get_args(hint)[0])
    return hint in _PLAIN or origin in (Literal, list, tuple, dict)


@cache
def _written() -> dict[str, Declared]:
    """``module:object`` of each built-in method -> what is written down of it."""
    entries = json.loads(_FILE.read_bytes())
    return {target: _read_entry(entry) for target, entry in entries.items()}


def _read_entry(entry: Mapping[str, Any]) -> Declared:
    asked_by = entry["asks_of_features"]
    return Declared(
        options={
            name: Option(name, _read_hint(hint), default)
            for name, (hint, default) in entry["options"].items()
        },
        follows_blocks=entry["follows_blocks"],
        takes_pairs=entry["takes_pairs"],
        asks_of_features=None if asked_by is None else tuple(asked_by),
        takes_missing=entry["takes_missing"],
        refuses_categories=entry["refuses_categories"],
    )


def _read_hint(written: Any) -> Any:
    if isinstance(written, str):
        return _NAMES.get(written, Any)
    ((form, content),) = written.items()
    if form == "one_of":
        return Literal[tuple(content)]
    if form == "any_of":
        return Union[tuple(map(_read_hint, content))]  # noqa: UP007  built from a run-time list
    if form == "at_least":
        return Annotated[int, msgspec.Meta(ge=content)]
    inner = tuple(map(_read_hint, content))
    return GenericAlias(list if form == "list" else dict, inner)


def _write_hint(hint: Any) -> Any:
    if hint is Any:
        return "any"
    if hint in _WORDS:
        return _WORDS[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"one_of": list(inner)}
    if origin is Union:
        return {"any_of": [_write_hint(member) for member in inner]}
    if origin is Annotated:
        return {"at_least": inner[1].ge}
    return {origin.__name__: [_write_hint(member) for member in inner]}


def written_anew() -> dict[str, Any]:
    """What ``declared.json`` has to hold: the built-in methods, imported and asked."""
    kinds: tuple[registry.Kind, ...] = ("selectors", "classifiers")
    found: dict[str, Any] = {}
    for kind in kinds:
        for method, target in registry.built_in(kind).items():
            said = _asked(kind, method)
            found[target] = {
                "follows_blocks": said.follows_blocks,
                "takes_pairs": said.takes_pairs,
                "asks_of_features": said.asks_of_features,
                "takes_missing": _rule_for_missing(kind, method),
                "refuses_categories": said.refuses_categories,
                "options": {
                    name: [_write_hint(option.hint), option.default]
                    for name, option in said.options.items()
                },
            }
    return found


def main() -> None:
    """Print what the methods say about themselves, one a line."""
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in written_anew().items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
