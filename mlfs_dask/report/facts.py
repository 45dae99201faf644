"""What ran, on what and how: the job in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import STORE_COSTS
from mlfs_dask.report import words
from mlfs_dask.report.conventions import special_cases
from mlfs_dask.wording import counted

_JOB_FILE_SHOWN: Final = 20_000
_SPLITS: Final = {
    "kfold": "all rows dealt at random",
    "iterative": "all rows dealt by iterative stratification, which balances labels and pairs",
    "groups": "rows of a group stay together",
    "holdout": "the training and test rows that the data set came with",
}


@dataclass(frozen=True)
class DatasetRow:
    """A data set that ran."""

    name: str
    n_samples: int
    n_features: int
    n_labels: int
    tile: int
    digest: str


@dataclass(frozen=True)
class MethodRow:
    """A selector or classifier that ran, with its parameters."""

    role: str
    label: str
    method: str
    params: str


@dataclass(frozen=True)
class Facts:
    """What ran.

    Attributes
    ----------
    datasets, methods
        In the order of the job.
    protocol
        Names and values.
    cases
        Special cases of the measures, and what counts in them.
    job_file
        As submitted; empty if it is lost.
    """

    datasets: tuple[DatasetRow, ...]
    methods: tuple[MethodRow, ...]
    protocol: tuple[tuple[str, str], ...]
    cases: tuple[tuple[str, str], ...]
    job_file: str


def read_facts(run: Run) -> Facts:
    """What ran.

    Parameters
    ----------
    run
        A run.
    """
    job = run.job
    evaluate = job["evaluate"] or {}
    return Facts(
        datasets=tuple(
            _dataset_row(data, len(run.datasets[data["name"]]["features"]))
            for data in run.manifest["datasets"]
        ),
        methods=tuple(
            MethodRow(role, method["label"], method["method"], _params(method))
            for role, methods in (
                ("selector", job["select"]),
                ("classifier", evaluate.get("classifier", [])),
            )
            for method in methods
        ),
        protocol=tuple(protocol(job, has_costs=has_costs(run))),
        cases=tuple(
            special_cases(evaluate["conventions"], evaluate["metrics"]) if evaluate else ()
        ),
        job_file=_job_file(run),
    )


def _dataset_row(data: dict[str, Any], n_features: int) -> DatasetRow:
    """Sizes of a data set; features may have come after the run began."""
    known = {**data, "n_features": n_features}
    return DatasetRow(**{key: known[key] for key in DatasetRow.__dataclass_fields__})


def has_costs(run: Run) -> bool:
    """Whether features had costs, wherever these came from.

    Parameters
    ----------
    run
        A run.
    """
    return any(selection["cost"] is not None for selection in run.compact_selections)


def protocol(job: dict[str, Any], *, has_costs: bool) -> list[tuple[str, str]]:
    """How it ran: names and values, all keys of the job among them.

    Parameters
    ----------
    job
        The job with all defaults.
    has_costs
        Whether features had costs; a job that names none takes those of the stores.
    """
    return [
        *_evaluation(job),
        ("seed of all random streams", str(job["seed"])),
        *_data(job["data"], has_costs=has_costs),
    ]


def _evaluation(job: dict[str, Any]) -> list[tuple[str, str]]:
    evaluate = job["evaluate"]
    if evaluate is None:
        return [("evaluation", "none: selection on all rows only")]
    rest = dict(evaluate)
    split, features = rest.pop("split"), rest.pop("features")
    metrics, conventions = rest.pop("metrics"), rest.pop("conventions")
    rest.pop("classifier")
    final = all(select.get("final", True) for select in job["select"])
    on_rows = "inside each training fold, never on test rows"
    selected = [
        ("selection", on_rows + ("; once more on all rows, for use" if final else "")),
        ("measured at", features_words(features)),
    ]
    return [
        ("split", split_words(split)),
        *(selected if job["select"] else [("selection", "none: classifiers on all features")]),
        ("measures", words.listed([words.metric_words(metric) for metric in metrics])),
        ("conventions of the measures", conventions),
        *((words.metric_words(key), words.plain_words(v)) for key, v in rest.items() if v),
    ]


def split_words(split: dict[str, Any]) -> str:
    """How rows are parted.

    Parameters
    ----------
    split
        The table of the job.

    Examples
    --------
    >>> split_words({"kind": "kfold", "folds": 5, "repeats": 2})
    '5 folds, repeated 2 times: all rows dealt at random'
    """
    rest = {key: value for key, value in split.items() if value is not None}
    kind = str(rest.pop("kind"))
    folds, repeats = rest.pop("folds", 1), rest.pop("repeats", 1)
    rule = _SPLITS.get(kind, kind)
    more = f" ({words.plain_words(rest)})" if rest else ""
    if kind == "holdout":
        return rule + more
    repeated = f", repeated {repeats} times" if repeats > 1 else ""
    return f"{counted(folds, 'fold')}{repeated}: {rule}{more}"


def features_words(features: dict[str, Any]) -> str:
    """At how many features classifiers are measured.

    Parameters
    ----------
    features
        The table of the job.

    Examples
    --------
    >>> features_words({"fractions": [0.05, 1.0], "counts": None})
    '5 %, 100 % of the features'
    """
    given = {key: value for key, value in features.items() if value is not None}
    if shares := given.get("fractions"):
        return words.listed([words.percent(share) for share in shares]) + " of the features"
    if counts := given.get("counts"):
        return words.listed([f"{count:,}" for count in counts]) + " features"
    if given.get("selected"):
        return "the features that each selector keeps itself"
    if "size_of" in given:
        return f"as many features as {given['size_of']} keeps"
    return words.plain_words(given)


def _data(data: dict[str, Any], *, has_costs: bool) -> list[tuple[str, str]]:
    rest = {key: value for key, value in data.items() if value is not None}
    rest.pop("store", None)
    impute = rest.pop("impute", "none")
    filled = {
        "none": "methods without a rule for them refuse",
        "mean": "filled by the mean (nominal: the mode) of the training rows",
    }
    facts = [("missing values", filled.get(impute, impute))]
    missing = rest.pop("missing", None)
    if missing is not None:
        share = words.percent(missing["rate"]) if "rate" in missing else words.plain_words(missing)
        facts.append(("made missing", f"{share} of the cells, drawn from the seed"))
    costs = rest.pop("costs", STORE_COSTS if has_costs else None)
    if costs is not None:
        facts.append(("costs of the features", _origin_of_costs(costs)))
    return [*facts, *((key, words.plain_words(value)) for key, value in rest.items())]


def _origin_of_costs(costs: dict[str, Any] | str) -> str:
    if isinstance(costs, dict):
        given = {key: value for key, value in costs.items() if value is not None}
        return f"{words.plain_words(given)}, drawn from the seed"
    return "those the stores came with" if costs == STORE_COSTS else f"read from {costs}"


def _params(method: dict[str, Any]) -> str:
    """Parameters and other keys; those of None say nothing and are left out."""
    rest = {k: v for k, v in method.items() if k not in ("label", "method", "params")}
    if rest.get("final") is True:
        del rest["final"]
    return words.plain_words({**method["params"], **rest})


def _job_file(run: Run) -> str:
    path = run.path / "job.toml"
    text = path.read_bytes().decode("utf-8", errors="replace") if path.is_file() else ""
    if len(text) > _JOB_FILE_SHOWN:
        return text[:_JOB_FILE_SHOWN] + "\n... (more in job.toml of the run folder)"
    return text
