"""Reading ``[[select]]`` and ``[[evaluate.classifier]]``: methods, their options and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from mlfs_dask import registry
from mlfs_dask.errors import InputError, PluginError
from mlfs_dask.jobs import spec
from mlfs_dask.jobs.declared import Option, declared
from mlfs_dask.jobs.options import default_label, full_params
from mlfs_dask.jobs.plain import are_plain
from mlfs_dask.jobs.problems import Problems, in_words, joined
from mlfs_dask.jobs.sweep import Entry
from mlfs_dask.jobs.tables import (
    WRONG,
    Reader,
    fields_of,
    read_table,
    read_value,
)


def read_methods(table: type[spec.Method], kind: registry.Kind) -> Reader:
    """A reader of a list of selectors or classifiers.

    Parameters
    ----------
    table
        What an entry may hold besides the options of its method.
    kind
        Of the methods.
    """

    def read(raw: Any, path: str, problems: Problems) -> Any:
        if not isinstance(raw, list) or not all(isinstance(item, Entry) for item in raw):
            problems.wrong_value(path, raw, f"tables that start with [[{path}]]")
            return []
        methods = [_read_method(table, kind, entry, problems) for entry in raw]
        _check_labels(methods, raw, kind, problems)
        return methods

    return read


def read_features(raw: Any, path: str, problems: Problems) -> dict[str, Any]:
    """Read ``features``: exactly one of its keys.

    Parameters
    ----------
    raw, path, problems
        As for any reader.
    """
    clean = read_table(spec.Features, raw, path, problems)
    if isinstance(raw, dict) and len(clean) != 1:
        problems.add(
            path,
            "expected exactly one of fractions = [..], counts = [..], selected = true, "
            'size_of = "LABEL"',
        )
    for key in ("fractions", "counts"):
        if clean.get(key) == ():
            problems.wrong_value(f"{path}.{key}", [], "at least one value")
    if clean.get("selected") is False:
        problems.wrong_value(f"{path}.selected", False, "true")
    return clean


def inherit(clean: dict[str, Any]) -> None:
    """Fill what methods inherit: imputation from [data], conventions and, by these, scaling.

    Parameters
    ----------
    clean
        A job without problems, as plain values; changed in place.
    """
    impute = clean["data"].get("impute", "none")
    evaluate = clean.get("evaluate") or {}
    for select in clean.get("select", []):
        _inherit("selectors", select, {"impute": impute})
        if select.get("prefilter") is not None:
            own = select["params"].get("impute", impute)
            _inherit("selectors", select["prefilter"], {"impute": own})
    for method in evaluate.get("classifier", []):
        conventions = method["params"].get("conventions", evaluate.get("conventions", "default"))
        scaling = "none" if conventions == "zhang" else "minmax"
        values = {"impute": impute, "normalize": scaling, "conventions": conventions}
        _inherit("classifiers", method, values)


def _inherit(kind: registry.Kind, method: dict[str, Any], values: dict[str, Any]) -> None:
    options = declared(kind, method["method"]).options
    inherited = {key: value for key, value in values.items() if key in options}
    method["params"] = full_params(kind, method["method"], {**inherited, **method["params"]})


def _read_prefilter(raw: Any, path: str, problems: Problems) -> Any:
    if not isinstance(raw, dict):
        problems.wrong_value(path, raw, 'a table such as { method = "spec", n = 500 }')
        return WRONG
    return _read_method(spec.Prefilter, "selectors", Entry(raw, path), problems)


_READERS: Final[dict[str, Reader]] = {"prefilter": _read_prefilter, "features": read_features}


def _read_method(
    table: type[msgspec.Struct], kind: registry.Kind, entry: Entry, problems: Problems
) -> dict[str, Any]:
    own = {name: field for name, field in fields_of(table).items() if name != "params"}
    raw = entry.raw
    clean: dict[str, Any] = {}
    for key, field in own.items():
        if key in raw:
            read = _READERS.get(key)
            clean[key] = (
                read(raw[key], entry.at(key), problems)
                if read is not None
                else read_value(field.type, raw[key], entry.at(key), problems)
            )
        elif field.required and key not in ("method", "label"):
            problems.add(entry.at(key), f"missing; expected {in_words(field.type)}")
    method = clean.get("method", WRONG)
    if "method" not in raw:
        known = ", ".join(registry.names(kind))
        problems.add(entry.at("method"), f"missing; expected one of {known}")
    if method is WRONG:
        return clean
    try:
        options = declared(kind, method).options
    except PluginError as error:
        if method in registry.names(kind):
            problems.add(entry.at("method"), error.message)
        else:
            problems.unknown_name(
                entry.at("method"), method, kind.removesuffix("s"), registry.names(kind)
            )
        return clean
    clean["params"] = _read_options(entry, options, list(own), problems)
    if "label" in own:
        clean["label"] = _label(kind, clean, entry)
    _check_values(kind, method, clean["params"], entry, problems)
    if clean.get("follow") is True:
        _check_follow(method, clean, entry, problems)
    return clean


def _check_follow(method: str, clean: dict[str, Any], entry: Entry, problems: Problems) -> None:
    """Only selectors of streams can follow a store, feature by feature as they come."""
    streams = [
        name for name in registry.names("selectors") if declared("selectors", name).follows_blocks
    ]
    if method not in streams:
        problems.add(entry.at("follow"), f"true is for {' and '.join(streams)}; leave it out")
        return
    for key, value, why in (
        ("arrival", "store", "features of blocks arrive in the order of the store"),
        ("prefilter", None, "features to come can't be ranked beforehand"),
        ("final", True, "what follows is the selection on all rows"),
    ):
        given = clean["params"].get(key, clean.get(key, value))
        if given is not WRONG and given != value:
            problems.add(entry.at(key), f"does not go with follow = true: {why}")


def _label(kind: registry.Kind, clean: dict[str, Any], entry: Entry) -> Any:
    """The label given or made of what differs from the defaults, with the point of the sweep."""
    base = clean.get("label")
    if base is None:
        hidden = {*entry.swept} if entry.order is None else {*entry.swept, "order"}
        given = {k: v for k, v in clean["params"].items() if k not in hidden}
        prefilter = clean.get("prefilter", WRONG)
        if isinstance(prefilter, dict) and "prefilter" not in entry.swept:
            given["prefilter"] = f"{prefilter.get('method')} {prefilter.get('n')}"
        base = default_label(kind, clean["method"], given)
    return entry.label(base) if isinstance(base, str) else WRONG


def _check_values(
    kind: registry.Kind, method: str, params: dict[str, Any], entry: Entry, problems: Problems
) -> None:
    """Let the method itself say what it refuses; its messages begin with ``name = value``."""
    if are_plain(kind, method, params):
        return
    try:
        estimator = registry.load(kind, method)(**params)
        check = getattr(estimator, "_check_parameters", None)
        if check is not None:
            check()
    except (InputError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, InputError) else str(error)
        named = next((name for name in params if message.startswith(f"{name} = ")), None)
        place = entry.place if named is None else entry.at(named)
        problems.add(place, message.removeprefix(f"{named} = "))


def _read_options(
    entry: Entry, options: Mapping[str, Option], own: list[str], problems: Problems
) -> dict[str, Any]:
    params = {}
    for key, value in entry.raw.items():
        if key in own:
            continue
        if key in options:
            converted = read_value(options[key].hint, value, entry.at(key), problems)
            if converted is not WRONG:
                params[key] = converted
        else:
            problems.unknown_key(entry.place, key, [*own, *options])
    return params


def _check_labels(
    methods: list[dict[str, Any]], entries: list[Entry], kind: registry.Kind, problems: Problems
) -> None:
    seen: dict[str, str] = {}
    for method, entry in zip(methods, entries, strict=True):
        label = method.get("label", WRONG)
        if not isinstance(label, str):
            continue
        place = joined(entry.place, "label")
        if label in seen:
            problems.add(
                place, f"{label!r} is also the label of {seen[label]}; give them other names"
            )
        if kind == "selectors" and label == spec.BASELINE:
            problems.add(place, f"{label!r} is the name of the baseline; give another name")
        if not cast("str", entry.raw.get("label", label)).strip() or not label.isprintable():
            problems.wrong_value(place, label, "some printable text")
        seen.setdefault(label, entry.place)
