"""Reading a job file: TOML in, a checked `Job` out, or all problems in one report."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from mlfs_dask import registry
from mlfs_dask.errors import InputError, JobFileError, NotFoundError, PluginError
from mlfs_dask.evaluate.metrics import METRICS
from mlfs_dask.jobs import spec
from mlfs_dask.jobs.options import Option, default_label, full_params, options_of
from mlfs_dask.jobs.overrides import apply_overrides, is_position
from mlfs_dask.jobs.problems import Problems, in_words, joined, shown
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.resources import declaration

# Keys that are planned and would change results if they were passed over in silence.
_LATER: Final[dict[str, frozenset[str]]] = {
    "": frozenset({"sweep", "compare"}),
    "data": frozenset({"missing", "costs"}),
    "select": frozenset({"prefilter", "datasets", "features", "follow"}),
    "evaluate.split": frozenset({"column"}),
    "evaluate.features": frozenset({"selected", "size_of"}),
}
_LATER_SPLITS: Final = ("iterative", "groups")
_MISSING: Final = object()
_Reader = Callable[[Any, str, Problems], Any]


def read_job(path: Path, overrides: Iterable[str] = ()) -> spec.Job:
    """Read and check a job file.

    Parameters
    ----------
    path
        The file; a name like ``quickstart`` or ``jobs/quickstart.toml`` that is no file here is
        looked for among the job files that come with the package.
    overrides
        ``key=value`` with a dotted key and a TOML value, in order.

    Returns
    -------
    Job
        With all defaults filled in.

    Raises
    ------
    NotFoundError
        No such file.
    JobFileError
        Everything that is wrong with it.
    """
    path = find_job(path)
    return parse_job(path.read_bytes(), str(path), overrides)


def find_job(path: Path) -> Path:
    """The job file a user means: a path, or the name of one that comes with the package.

    Parameters
    ----------
    path
        As typed.

    Raises
    ------
    NotFoundError
        Neither.
    """
    if path.is_file():
        return path
    if path.is_dir():
        raise NotFoundError(f"{path} is a folder, not a job file", hint=_HINT, path=str(path))
    name = path.name if path.suffix == ".toml" else path.name + ".toml"
    if path.parent in (Path("jobs"), Path()):
        try:
            return declaration(f"jobs/{name}")
        except NotFoundError:
            pass
    raise NotFoundError(f"there is no job file {path}", hint=_HINT, path=str(path))


_HINT = "`mlfs init FILE` writes a commented job file to start from."


def parse_job(text: bytes, file: str, overrides: Iterable[str] = ()) -> spec.Job:
    """Check the text of a job file.

    Parameters
    ----------
    text
        TOML in UTF-8.
    file
        Its name, for messages.
    overrides
        As in `read_job`.

    Raises
    ------
    JobFileError
        Everything that is wrong with it.

    Examples
    --------
    >>> job = parse_job(b'''
    ... schema = 1
    ... name = "demo"
    ... [data]
    ... store = "emotions"
    ... [[select]]
    ... method = "spec"
    ... ''', "demo.toml")
    >>> job.select[0].label
    'spec'
    """
    problems = Problems(file)
    try:
        # Some editors begin files with a byte order mark.
        raw = tomllib.loads(text.decode("utf-8-sig"))
    except ValueError as error:  # not UTF-8, not TOML, or a number of thousands of digits
        raise JobFileError(f"{file}: not TOML: {error}", file=file) from error
    except RecursionError:
        raise JobFileError(f"{file}: tables or lists are nested too deeply", file=file) from None
    apply_overrides(raw, overrides, problems)
    clean = _read_table(spec.Job, raw, "", problems, _READERS[""])
    _check_whole(clean, problems)
    problems.check()
    return msgspec.convert(_with_inherited(clean), spec.Job)


def _read_table(
    table: type[msgspec.Struct],
    raw: Any,
    path: str,
    problems: Problems,
    readers: Mapping[str, _Reader] | None = None,
) -> dict[str, Any]:
    """Values of a table that passed; every other key left a problem."""
    if not isinstance(raw, dict):
        problems.wrong_value(path, raw, "a table")
        return {}
    fields = {field.name: field for field in msgspec.structs.fields(table)}
    readers = readers or _READERS.get(path, {})
    clean = {}
    for key, value in raw.items():
        place = joined(path, key)
        if key in _LATER.get(path, ()):
            problems.add(place, "not in this version of mlfs-dask; leave it out")
        elif key not in fields:
            problems.unknown_key(path, key, fields)
        elif key in readers:
            clean[key] = readers[key](value, place, problems)
        else:
            clean[key] = _read_value(fields[key].type, value, place, problems)
    for key, field in fields.items():
        if field.required and key not in raw:
            expected = in_words(field.type) if key not in readers else "a table"
            problems.add(joined(path, key), f"missing; expected {expected}")
    return clean


def _read_value(hint: Any, value: Any, place: str, problems: Problems) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        # A message such as "Expected `float` > 0.0 - at `$[2]`" says which item of a list it is.
        where = str(error).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(error) else ""
        problems.wrong_value(place + where, _item(value, where), in_words(hint))
        return _MISSING


def _item(value: Any, where: str) -> Any:
    position = where.strip("[]")
    return value[int(position)] if isinstance(value, list) and is_position(position) else value


def _nested(table: type[msgspec.Struct]) -> _Reader:
    return lambda raw, path, problems: _read_table(table, raw, path, problems)


def _split(raw: Any, path: str, problems: Problems) -> Any:
    if isinstance(raw, dict) and raw.get("kind") in _LATER_SPLITS:
        problems.add(
            f"{path}.kind",
            f"{shown(raw['kind'])} is not in this version of mlfs-dask; expected 'kfold' or "
            "'holdout'",
        )
        return {}
    return _read_table(spec.Split, raw, path, problems)


def _memory(raw: Any, path: str, problems: Problems) -> Any:
    if not isinstance(raw, str) or parse_bytes(raw) is None:
        problems.wrong_value(path, raw, "a size with its unit, like '4 GiB' or '500 MB'")
        return _MISSING
    return raw


def _metrics(raw: Any, path: str, problems: Problems) -> Any:
    names = _read_value(tuple[str, ...], raw, path, problems)
    if names is _MISSING:
        return names
    for position, name in enumerate(names):
        if name not in METRICS:
            problems.unknown_name(f"{path}.{position}", name, "metric", METRICS)
    if not names:
        problems.wrong_value(path, list(names), "at least one metric")
    return tuple(dict.fromkeys(names))


def _methods(table: type[spec.Method], kind: registry.Kind) -> _Reader:
    def read(raw: Any, path: str, problems: Problems) -> Any:
        if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
            problems.wrong_value(path, raw, f"tables that start with [[{path}]]")
            return []
        methods = [
            _read_method(table, kind, item, joined(path, position), problems)
            for position, item in enumerate(raw)
        ]
        _check_labels(methods, path, problems)
        return methods

    return read


def _read_method(
    table: type[spec.Method],
    kind: registry.Kind,
    raw: dict[str, Any],
    path: str,
    problems: Problems,
) -> dict[str, Any]:
    own = {field.name: field.type for field in msgspec.structs.fields(table)}
    del own["params"]
    clean = {
        key: _read_value(own[key], raw[key], joined(path, key), problems)
        for key in own
        if key in raw
    }
    method = clean.get("method", _MISSING)
    if "method" not in raw:
        known = ", ".join(registry.names(kind))
        problems.add(joined(path, "method"), f"missing; expected one of {known}")
    if method is _MISSING:
        return clean
    try:
        options = options_of(kind, method)
    except PluginError as error:
        if method in registry.names(kind):
            problems.add(joined(path, "method"), error.message)
        else:
            problems.unknown_name(
                joined(path, "method"), method, kind.removesuffix("s"), registry.names(kind)
            )
        return clean
    given = {key: value for key, value in raw.items() if key not in own}
    clean["params"] = _read_options(given, options, path, problems, list(own))
    clean.setdefault("label", default_label(kind, method, clean["params"]))
    _check_values(kind, method, clean["params"], path, problems)
    return clean


def _check_values(
    kind: registry.Kind, method: str, params: dict[str, Any], path: str, problems: Problems
) -> None:
    """Let the method itself say what it refuses; its messages begin with ``name = value``."""
    try:
        estimator = registry.load(kind, method)(**params)
        check = getattr(estimator, "_check_parameters", None)
        if check is not None:
            check()
    except (InputError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, InputError) else str(error)
        named = next((name for name in params if message.startswith(f"{name} = ")), None)
        place = path if named is None else joined(path, named)
        problems.add(place, message.removeprefix(f"{named} = "))


def _read_options(
    given: dict[str, Any],
    options: Mapping[str, Option],
    path: str,
    problems: Problems,
    own: list[str],
) -> dict[str, Any]:
    later = _LATER["select"] if path.startswith("select.") else frozenset()
    params = {}
    for key, value in given.items():
        place = joined(path, key)
        if key in options:
            converted = _read_value(options[key].hint, value, place, problems)
            if converted is not _MISSING:
                params[key] = converted
        elif key in later:
            problems.add(place, "not in this version of mlfs-dask; leave it out")
        else:
            problems.unknown_key(path, key, [*own, *options])
    return params


def _check_labels(methods: list[dict[str, Any]], path: str, problems: Problems) -> None:
    seen: dict[str, int] = {}
    for position, method in enumerate(methods):
        label = method.get("label", _MISSING)
        if not isinstance(label, str):
            continue
        place = f"{path}.{position}.label"
        if label in seen:
            problems.add(
                place, f"{label!r} is also the label of {path}.{seen[label]}; give them other names"
            )
        if path == "select" and label == spec.BASELINE:
            problems.add(place, f"{label!r} is the name of the baseline; give another name")
        if not label.strip() or not label.isprintable():
            problems.wrong_value(place, label, "some printable text")
        seen.setdefault(label, position)


def _check_whole(clean: dict[str, Any], problems: Problems) -> None:
    """What only several keys together can get wrong."""
    evaluate = clean.get("evaluate")
    if not clean.get("select") and evaluate is None:
        problems.add("", "nothing to do: give at least one [[select]] or an [evaluate] table")
    data = clean.get("data", {})
    if data.get("store") == ():
        problems.wrong_value("data.store", [], "a name, a path or a list of them")
    if not isinstance(evaluate, dict):
        return
    features = evaluate.get("features", {})
    given = [key for key in ("fractions", "counts") if features.get(key) is not None]
    if "features" in evaluate and len(given) != 1:
        problems.add("evaluate.features", "expected exactly one of fractions = [..], counts = [..]")
    for key in given:
        if features[key] == ():
            problems.wrong_value(f"evaluate.features.{key}", [], "at least one value")
    split = evaluate.get("split", {})
    if split.get("kind") == "holdout":
        for key in ("folds", "repeats"):
            if split.get(key, 1) != 1:
                problems.add(f"evaluate.split.{key}", "holdout has one split; leave this key out")
    if "classifier" in evaluate and not evaluate["classifier"]:
        problems.add("evaluate.classifier", "expected at least one [[evaluate.classifier]]")
    if not clean.get("select") and evaluate.get("baseline") is False:
        problems.add("evaluate.baseline", "false leaves nothing to judge without a [[select]]")


def _with_inherited(clean: dict[str, Any]) -> dict[str, Any]:
    """Fill what methods inherit: imputation from [data], scaling from the conventions."""
    impute = clean["data"].get("impute", "none")
    evaluate = clean.get("evaluate") or {}
    for method in clean.get("select", []):
        _inherit("selectors", method, {"impute": impute})
    scaling = "none" if evaluate.get("conventions") == "zhang" else "minmax"
    for method in evaluate.get("classifier", []):
        _inherit("classifiers", method, {"impute": impute, "normalize": scaling})
    split = evaluate.get("split", {})
    if split.get("kind") == "holdout":
        split.pop("folds", None)
    return clean


def _inherit(kind: registry.Kind, method: dict[str, Any], values: dict[str, Any]) -> None:
    options = options_of(kind, method["method"])
    inherited = {key: value for key, value in values.items() if key in options}
    method["params"] = full_params(kind, method["method"], {**inherited, **method["params"]})


_READERS: Final[dict[str, dict[str, _Reader]]] = {
    "": {
        "data": _nested(spec.Data),
        "select": _methods(spec.Select, "selectors"),
        "evaluate": _nested(spec.Evaluate),
        "run": _nested(spec.Run),
    },
    "evaluate": {
        "split": _split,
        "features": _nested(spec.Features),
        "classifier": _methods(spec.Classify, "classifiers"),
        "metrics": _metrics,
    },
    "run": {"memory_per_worker": _memory},
}
