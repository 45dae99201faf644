"""Reading a job file: TOML in, a checked `Job` out, or all problems in one report."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from mlfs_dask.errors import JobFileError, NotFoundError, without_credentials
from mlfs_dask.evaluate.metrics import METRICS
from mlfs_dask.jobs import spec
from mlfs_dask.jobs.compare_check import check_compare, read_compare
from mlfs_dask.jobs.inputs import CREDENTIALS, FILES, find_files, has_credentials
from mlfs_dask.jobs.label_orders import expand_orders, paired_labels
from mlfs_dask.jobs.methods import inherit, read_features, read_methods
from mlfs_dask.jobs.overrides import apply_overrides, given_keys
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.sweep import expand_sweep
from mlfs_dask.jobs.tables import WRONG, Reader, read_table, read_value
from mlfs_dask.resources import declaration

_COSTS_EXPECTED: Final = (
    "a table such as { distribution = 'uniform', low = 0, high = 100 }, 'store' or the path of a "
    "CSV file"
)


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
    expand_sweep(raw, problems)
    expand_orders(raw)
    clean = read_table(spec.JobFile, raw, "", problems, _READERS)
    _check_whole(clean, raw, problems)
    files = find_files(clean, Path(file).parent, problems, given_keys(overrides, FILES))
    _refuse_credentials(text, problems)
    problems.check()
    inherit(clean)
    pairs = paired_labels(clean, raw.get("select", []))
    return msgspec.convert({**clean, "files": files, "pairs": pairs}, spec.Job)


def _refuse_credentials(text: bytes, problems: Problems) -> None:
    """Wherever they stand, be it in a comment or a key that was overruled: runs keep the file."""
    if any(CREDENTIALS in problem for problem in problems.found):
        return  # said by key already
    for number, line in enumerate(text.decode("utf-8-sig").splitlines(), 1):
        if without_credentials(line) != line:
            problems.add("", f"line {number}: {CREDENTIALS}")


def _data(raw: Any, path: str, problems: Problems) -> Any:
    return read_table(
        spec.Data, raw, path, problems, {"missing": _missing, "costs": _costs, "store": _store}
    )


def _store(raw: Any, path: str, problems: Problems) -> Any:
    store = read_value(str | tuple[str, ...], raw, path, problems)
    if store is WRONG:
        return WRONG
    if any(map(has_credentials, [store] if isinstance(store, str) else store)):
        problems.add(path, CREDENTIALS)
        return WRONG
    if store == ():
        problems.wrong_value(path, [], "a name, a path or a list of them")
    return store


def _missing(raw: Any, path: str, problems: Problems) -> Any:
    return read_table(spec.Missing, raw, path, problems)


def _costs(raw: Any, path: str, problems: Problems) -> Any:
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, dict):
        problems.wrong_value(path, raw, _COSTS_EXPECTED)
        return WRONG
    clean = read_table(spec.Costs, raw, path, problems)
    kind = clean.get("distribution")
    for own, keys in spec.COST_KEYS.items():
        for key in keys:
            if own == kind and key not in raw:
                problems.add(f"{path}.{key}", f"missing; {kind} needs {' and '.join(keys)}")
            elif own != kind and key in raw and kind in spec.COST_KEYS:
                needed = " and ".join(spec.COST_KEYS[kind])
                problems.add(f"{path}.{key}", f"{kind} takes {needed}; leave this key out")
    low, high = clean.get("low"), clean.get("high")
    if isinstance(low, float) and isinstance(high, float) and high < low:
        problems.wrong_value(f"{path}.high", high, f"at least low = {low}")
    return clean


def _evaluate(raw: Any, path: str, problems: Problems) -> Any:
    readers: dict[str, Reader] = {
        "split": _split,
        "features": read_features,
        "classifier": read_methods(spec.Classify, "classifiers"),
        "metrics": _metrics,
    }
    clean = read_table(spec.Evaluate, raw, path, problems, readers)
    if clean.get("classifier") == [] and raw["classifier"] == []:
        problems.add(f"{path}.classifier", "expected at least one [[evaluate.classifier]]")
    return clean


def _split(raw: Any, path: str, problems: Problems) -> Any:
    clean = read_table(spec.Split, raw, path, problems)
    kind = clean.get("kind", "kfold")
    if kind == "holdout":
        for key in ("folds", "repeats"):
            if clean.pop(key, 1) != 1:
                problems.add(f"{path}.{key}", "holdout has one split; leave this key out")
    if kind == "groups" and "column" not in clean and isinstance(raw, dict):
        problems.add(
            f"{path}.column",
            "missing; expected the path of a file with the group of each row, one a line",
        )
    if kind in ("kfold", "iterative", "holdout") and "column" in clean:
        problems.add(f"{path}.column", f"{kind} has no groups; leave this key out")
    return clean


def _metrics(raw: Any, path: str, problems: Problems) -> Any:
    names = read_value(tuple[str, ...], raw, path, problems)
    if names is WRONG:
        return names
    for position, name in enumerate(names):
        if name not in METRICS:
            problems.unknown_name(f"{path}.{position}", name, "metric", METRICS)
    if not names:
        problems.wrong_value(path, list(names), "at least one metric")
    return tuple(dict.fromkeys(names))


def _run(raw: Any, path: str, problems: Problems) -> Any:
    return read_table(spec.Run, raw, path, problems, {"memory_per_worker": _memory})


def _memory(raw: Any, path: str, problems: Problems) -> Any:
    if not isinstance(raw, str) or parse_bytes(raw) is None:
        problems.wrong_value(path, raw, "a size with its unit, like '4 GiB' or '500 MB'")
        return WRONG
    return raw


def _check_whole(clean: dict[str, Any], raw: dict[str, Any], problems: Problems) -> None:
    """What only several tables together can get wrong."""
    evaluate, selects = clean.get("evaluate"), clean.get("select") or []
    if not selects and evaluate is None:
        problems.add("", "nothing to do: give at least one [[select]] or an [evaluate] table")
    if isinstance(evaluate, dict) and not selects and evaluate.get("baseline") is False:
        problems.add("evaluate.baseline", "false leaves nothing to judge without a [[select]]")
    labels = [s["label"] for s in selects if isinstance(s.get("label"), str)]
    shared = evaluate.get("features") if isinstance(evaluate, dict) else None
    _check_size_of("evaluate.features", shared, labels, problems)
    for select, entry in zip(selects, raw["select"] if selects else [], strict=True):
        place = entry.at("features")
        if "features" in select and evaluate is None:
            problems.add(place, "there is no [evaluate] table to judge with; leave this key out")
        _check_size_of(place, select.get("features"), labels, problems)
        if select.get("datasets") == ():
            problems.wrong_value(entry.at("datasets"), [], "at least one data set")
    check_compare(clean, problems)


def _check_size_of(place: str, features: Any, labels: list[str], problems: Problems) -> None:
    label = features.get("size_of") if isinstance(features, dict) else None
    if isinstance(label, str) and label not in labels:
        problems.unknown_name(f"{place}.size_of", label, "selector", labels)


_READERS: Final[dict[str, Reader]] = {
    "data": _data,
    "select": read_methods(spec.Select, "selectors"),
    "evaluate": _evaluate,
    "sweep": lambda raw, path, problems: raw,
    "compare": read_compare,
    "run": _run,
}
