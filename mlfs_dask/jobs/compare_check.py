"""Reading ``[compare]``: its own keys, and whether the rest of the job has what it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mlfs_dask.jobs.compare_spec import Compare, PointAt, default_post_hoc, post_hoc_problem
from mlfs_dask.jobs.problems import Problems, shown
from mlfs_dask.jobs.spec import BASELINE, DEFAULT_METRICS, Evaluate
from mlfs_dask.jobs.tables import WRONG, read_table, read_value

_AT_EXPECTED: Final = "{ fraction = .. }, { count = .. }, 'best' or 'selected'"
_DEFAULTS: Final = Evaluate(classifier=())


def read_compare(raw: Any, path: str, problems: Problems) -> Any:
    """The ``[compare]`` table, by itself.

    Parameters
    ----------
    raw, path, problems
        As for a reader of `mlfs_dask.jobs.tables`.
    """
    clean = read_table(Compare, raw, path, problems, {"at": _read_at})
    for key in ("metrics", "labels"):
        names = clean.get(key)
        if isinstance(names, tuple):
            clean[key] = tuple(dict.fromkeys(names))
    if clean.get("metrics") == ():
        problems.wrong_value(f"{path}.metrics", [], "at least one metric")
    test = clean.get("test", "friedman")
    post_hoc, control = clean.get("post_hoc"), clean.get("control")
    if WRONG not in (test, post_hoc, control):
        clean["post_hoc"] = post_hoc or default_post_hoc(test, control)
        wrong = post_hoc_problem(test, clean["post_hoc"], control)
        if wrong is not None:
            problems.add(f"{path}.{wrong[0]}", wrong[1])
    return clean


def _read_at(raw: Any, path: str, problems: Problems) -> Any:
    if isinstance(raw, dict):
        clean = read_table(PointAt, raw, path, problems)
        if len(clean) != 1 and set(raw) <= {"fraction", "count"}:
            problems.add(path, "expected exactly one of fraction = .., count = ..")
        return clean
    if raw not in ("best", "selected"):
        problems.wrong_value(path, raw, _AT_EXPECTED)
        return WRONG
    return read_value(str, raw, path, problems)


def check_compare(clean: Mapping[str, Any], problems: Problems) -> None:
    """What only the whole job can say; fills in the metrics and what the rows are.

    Parameters
    ----------
    clean
        The job, as far as it is right.
    problems
        Takes what is wrong.
    """
    compare = clean.get("compare")
    if not isinstance(compare, dict):
        return
    evaluate = clean.get("evaluate")
    if not isinstance(evaluate, dict):
        if "evaluate" not in clean:
            problems.add("compare", "there is no [evaluate] table, so nothing to compare")
        return
    measured = evaluate.get("metrics", DEFAULT_METRICS)
    if isinstance(measured, tuple) and compare.get("metrics") is None:
        compare["metrics"] = measured
    elif isinstance(measured, tuple) and isinstance(compare["metrics"], tuple):
        for position, name in enumerate(compare["metrics"]):
            if name not in measured:
                problems.unknown_name(
                    f"compare.metrics.{position}", name, "metric of [evaluate]", measured
                )
    _check_labels(compare, clean, evaluate, problems)
    _check_rows(compare, clean, evaluate, problems)
    _check_points(compare, clean, evaluate, problems)


def _check_labels(
    compare: Mapping[str, Any],
    clean: Mapping[str, Any],
    evaluate: Mapping[str, Any],
    problems: Problems,
) -> None:
    """Labels and control have to exist, and to be two or more."""
    of = compare.get("of", "selectors")
    if of is WRONG:
        return
    methods = clean.get("select", []) if of == "selectors" else evaluate.get("classifier", [])
    own = [m["label"] for m in methods if isinstance(m.get("label"), str)]
    known = list(own)
    if of == "selectors" and evaluate.get("baseline", True) is True:
        known.append(BASELINE)
    control, labels = compare.get("control"), compare.get("labels")
    kind = of.removesuffix("s")
    if isinstance(control, str) and control not in known:
        problems.unknown_name("compare.control", control, kind, known)
    for position, label in enumerate(labels if isinstance(labels, tuple) else ()):
        if label not in known:
            problems.unknown_name(f"compare.labels.{position}", label, kind, known)
    treatments = {*(labels if isinstance(labels, tuple) else own)}
    treatments |= {control} if isinstance(control, str) else set()
    if len(treatments) < 2:
        place = "compare.labels" if isinstance(labels, tuple) else "compare.of"
        problems.add(place, f"{len(treatments)} of the {of}; expected two or more to compare")


def _check_rows(
    compare: dict[str, Any],
    clean: Mapping[str, Any],
    evaluate: Mapping[str, Any],
    problems: Problems,
) -> None:
    """A test needs two rows or more."""
    data = clean.get("data")
    stores = data.get("store") if isinstance(data, dict) else None
    is_one = isinstance(stores, str) or (isinstance(stores, tuple) and len(stores) == 1)
    split = evaluate.get("split", {})
    over = compare.setdefault("over", "folds" if is_one else "datasets")
    if over == "datasets" and is_one:
        problems.add("compare.over", "there is one data set; expected 'folds', or more data sets")
    if over == "folds" and isinstance(split, dict) and split.get("kind") == "holdout":
        problems.add("compare.over", "holdout has one fold; expected 'datasets'")
    if over != "datasets" or compare.get("missing", "refuse") != "refuse":
        return
    for select in _compared(compare, clean):
        if isinstance(select.get("datasets"), tuple):
            problems.add(
                "compare.missing",
                f"{select['label']!r} runs on some data sets only, which leaves missing cells; "
                "expected 'drop', or labels without it",
            )


def _check_points(
    compare: Mapping[str, Any],
    clean: Mapping[str, Any],
    evaluate: Mapping[str, Any],
    problems: Problems,
) -> None:
    """Every compared selector has to be judged at the point."""
    at = compare.get("at")
    for select in _compared(compare, clean):
        features = select.get("features") or evaluate.get("features")
        if features is None:
            features = {"fractions": _DEFAULTS.features.fractions}
        problem = _point_problem(at, features)
        if problem is not None:
            problems.add("compare.at", f"{problem} ({select['label']})")


def _compared(compare: Mapping[str, Any], clean: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Selectors whose results are compared."""
    selects = [s for s in clean.get("select", []) if isinstance(s.get("label"), str)]
    labels = compare.get("labels")
    if compare.get("of", "selectors") == "selectors" and isinstance(labels, tuple):
        wanted = {*labels, compare.get("control")}
        selects = [select for select in selects if select["label"] in wanted]
    return selects


def _point_problem(at: Any, features: Any) -> str | None:
    """Why curves with these points cannot be compared there; None if they can."""
    if not isinstance(features, dict) or at is WRONG:
        return None
    listed = {key: features[key] for key in ("fractions", "counts") if _is_list(features.get(key))}
    if at is None:
        several = any(len(values) > 1 for values in listed.values())
        return f"missing; expected {_AT_EXPECTED}" if several else None
    if at == "selected":
        return "'selected' needs features = { selected = true }" if listed else None
    if not isinstance(at, dict):
        return None
    for key, single in (("fractions", "fraction"), ("counts", "count")):
        value = at.get(single)
        if value is not None and value is not WRONG and value not in listed.get(key, ()):
            judged = ", ".join(map(shown, listed.get(key, ()))) or "none"
            return f"{single} = {value} is not judged; {key} of the features: {judged}"
    return None


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and len(values) > 0
