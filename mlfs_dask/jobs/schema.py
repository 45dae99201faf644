"""JSON Schema of job files, printed from the declarations: ``python -m mlfs_dask.jobs.schema``."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

import msgspec

from mlfs_dask import registry
from mlfs_dask.evaluate.metrics import METRICS
from mlfs_dask.jobs.declared import Option, declared
from mlfs_dask.jobs.spec import COST_KEYS, JobFile
from mlfs_dask.jobs.sweep import SWEPT

_METHODS: Final[dict[str, registry.Kind]] = {
    "Select": "selectors",
    "Prefilter": "selectors",
    "Classify": "classifiers",
}


def job_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a job file with the methods that are registered.

    Examples
    --------
    >>> job_schema()["required"]
    ['schema', 'name', 'data']
    """
    schema: dict[str, Any] = msgspec.json.schema(JobFile)
    tables = schema.pop("$defs")
    for name, kind in _METHODS.items():
        tables[name] = _method_schema(tables[name], kind)
    tables["Evaluate"]["properties"]["metrics"]["items"] = {"enum": list(METRICS)}
    tables["Evaluate"]["properties"]["metrics"]["minItems"] = 1
    tables["Evaluate"]["properties"]["classifier"]["minItems"] = 1
    tables["Features"] |= {"minProperties": 1, "maxProperties": 1}
    tables["Features"]["properties"]["selected"] |= {"const": True}
    tables["Split"] |= {
        "if": {"properties": {"kind": {"const": "groups"}}, "required": ["kind"]},
        "then": {"required": ["column"]},
        "else": {"properties": {"column": False}},
    }
    tables["PointAt"] |= {"minProperties": 1, "maxProperties": 1}
    tables["Compare"]["properties"]["metrics"]["anyOf"][0] |= {
        "items": {"enum": list(METRICS)},
        "minItems": 1,
    }
    tables["Costs"] = _costs_schema(tables["Costs"])
    whole = tables.pop("JobFile")
    whole["properties"]["sweep"] = _sweep_schema(whole["properties"]["sweep"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": "mlfs job file",
        "$defs": tables,
    }


def _method_schema(table: dict[str, Any], kind: registry.Kind) -> dict[str, Any]:
    """One alternative per registered method, each with the options of its constructor."""
    own = {key: value for key, value in table["properties"].items() if key != "params"}
    alternatives = []
    for method in registry.names(kind):
        options = {name: _option(o) for name, o in declared(kind, method).options.items()}
        alternatives.append(
            {
                "type": "object",
                "properties": {**own, "method": {"const": method}, **options},
                "required": [key for key in table["required"] if key != "label"],
                "additionalProperties": False,
            }
        )
    return {"title": table["title"], "description": table["description"], "oneOf": alternatives}


def _costs_schema(table: dict[str, Any]) -> dict[str, Any]:
    """One alternative per distribution, each with its own keys."""
    alternatives = [
        {
            "type": "object",
            "properties": {
                "distribution": {"const": distribution},
                **{key: table["properties"][key]["anyOf"][0] for key in keys},
            },
            "required": ["distribution", *keys],
            "additionalProperties": False,
        }
        for distribution, keys in COST_KEYS.items()
    ]
    return {"title": table["title"], "description": table["description"], "oneOf": alternatives}


def _sweep_schema(table: dict[str, Any]) -> dict[str, Any]:
    """Full keys in quotes, or as tables below tables, which is what TOML makes of them without."""
    values = {"type": "array", "minItems": 1}
    entries = {
        "type": "object",
        "patternProperties": {"^[0-9]+$": {"type": "object", "additionalProperties": values}},
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": table["description"],
        "patternProperties": {rf"^{path}\.[0-9]+\..+$": values for path in map(re.escape, SWEPT)},
        "properties": {
            "select": entries,
            "evaluate": {
                "type": "object",
                "properties": {"classifier": entries},
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    }


def _option(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {} if option.hint is Any else msgspec.json.schema(option.hint)
    if isinstance(option.default, (bool, int, float, str)):
        schema["default"] = option.default
    return schema


def main() -> None:
    """Print the schema."""
    json.dump(job_schema(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
