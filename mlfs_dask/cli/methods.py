"""``mlfs methods``: what there is to select, classify, measure and test with."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any, Literal, TypeAlias, cast, get_args

import click

from mlfs_dask.cli.output import json_option, print_json, print_table

_KINDS = ("selectors", "classifiers", "metrics", "tests")
_Registered: TypeAlias = Literal["selectors", "classifiers"]


@click.command()
@click.argument("kind", metavar=f"[{'|'.join(_KINDS)}]", required=False)
@click.argument("name", required=False)
@json_option
def methods(kind: str | None, name: str | None, as_json: bool) -> None:
    """List selectors, classifiers, metrics and tests, or show one with its parameters.

    \b
    Example:
      mlfs methods selectors
      mlfs methods spec
      mlfs methods selectors mlnb
    """
    if kind is not None and kind not in _KINDS:
        kind, name = _kind_of(kind, name), kind
    if kind is not None and name is not None:
        facts = _describe(kind, name)
        print_json(facts) if as_json else _print_method(facts)
        return
    listed = {each: _list(each) for each in ([kind] if kind else _KINDS)}
    if as_json:
        print_json(listed)
        return
    for position, (each, found) in enumerate(listed.items()):
        click.echo(("\n" if position else "") + f"{each}:")
        print_table([(f"  {m['name']}", m["summary"]) for m in found], ("  name", "summary"))


def _kind_of(name: str, further: str | None) -> str:
    """The kind that has a method of this name, given in its place."""
    from mlfs_dask import registry
    from mlfs_dask.evaluate.metrics import METRICS
    from mlfs_dask.evaluate.stats import TESTS

    known: dict[str, Collection[str]] = {
        "selectors": registry.names("selectors"),
        "classifiers": registry.names("classifiers"),
        "metrics": METRICS,
        "tests": TESTS,
    }
    having = [kind for kind, names in known.items() if name in names]
    if len(having) == 1 and further is None:
        return having[0]
    if having:
        expected = " or ".join(f"'mlfs methods {kind} {name}'" for kind in having)
    else:
        expected = f"one of {', '.join(map(repr, _KINDS))}, or a method's name"
    raise click.BadParameter(f"{name!r}: expected {expected}", param_hint="KIND")


def _list(kind: str) -> list[dict[str, str]]:
    from mlfs_dask import registry
    from mlfs_dask.errors import PluginError
    from mlfs_dask.evaluate.metrics import METRICS
    from mlfs_dask.evaluate.stats import TESTS

    if kind == "metrics":
        return [{"name": name, "summary": metric.summary} for name, metric in METRICS.items()]
    if kind == "tests":
        return [{"name": name, "summary": test.summary} for name, test in TESTS.items()]
    found = []
    registered = cast("_Registered", kind)
    for name in registry.names(registered):
        try:
            summary = _summary(registry.load(registered, name))
        except PluginError as error:
            summary = f"cannot be loaded: {error.message}"
        found.append({"name": name, "summary": summary})
    return found


def _describe(kind: str, name: str) -> dict[str, Any]:
    from mlfs_dask import registry
    from mlfs_dask.evaluate.metrics import get_metric
    from mlfs_dask.evaluate.stats import get_test

    if kind == "metrics":
        metric = get_metric(name)
        return {
            "kind": kind,
            "name": name,
            "higher_is_better": metric.higher_is_better,
            "formula": metric.formula,
            "parameters": [],
            "documentation": inspect.getdoc(metric.function) or "",
        }
    if kind == "tests":
        test = get_test(name)
        return {
            "kind": kind,
            "name": name,
            "role": test.role,
            "control": test.control,
            "formula": test.formula,
            "parameters": [],
            "documentation": inspect.getdoc(test.function) or "",
        }
    registered = cast("_Registered", kind)
    constructor = registry.load(registered, name)
    facts = {
        "kind": kind,
        "name": name,
        "parameters": _parameters(registered, name),
        "documentation": inspect.getdoc(constructor) or "",
    }
    return facts if kind == "selectors" else {**facts, "measured": _measured()}


def _measured() -> dict[str, dict[str, str]]:
    """By conventions, what measures make of special cases such as rows without labels."""
    from mlfs_dask._typing import Conventions
    from mlfs_dask.evaluate.metrics import METRICS
    from mlfs_dask.report.conventions import special_cases

    return {name: dict(special_cases(name, list(METRICS))) for name in get_args(Conventions)}


def _parameters(kind: _Registered, name: str) -> list[dict[str, Any]]:
    from mlfs_dask.jobs.declared import declared
    from mlfs_dask.jobs.problems import in_words

    return [
        {
            "name": option.name,
            "allowed": in_words(option.hint),
            "default": option.default
            if isinstance(option.default, (int, float, str, bool))
            else None,
        }
        for option in declared(kind, name).options.values()
    ]


def _print_method(facts: dict[str, Any]) -> None:
    click.echo(f"{facts['name']}\n")
    if facts["parameters"]:
        click.echo("In a job file:")
        shown = [
            (f"  {p['name']}", "" if p["default"] is None else p["default"], p["allowed"])
            for p in facts["parameters"]
        ]
        print_table(shown, ("  key", "default", "allowed"))
        click.echo()
    click.echo(facts["documentation"])
    if "measured" in facts:
        click.echo("\nHow measures decide special cases (Y: true labels, Z: predicted ones):")
        columns = facts["measured"]
        cases = next(iter(columns.values()))
        rows = [(f"  {case}", *(each[case] for each in columns.values())) for case in cases]
        print_table(rows, ("  case", *columns))


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]
