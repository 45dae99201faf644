"""What a job says, as typed records: every key of a job file is declared here once.

`mlfs_dask.jobs.jobfile` reads TOML into these; ``jobs/schema.json`` is printed from them. The keys
of ``[[select]]`` and ``[[evaluate.classifier]]`` that are not declared here are parameters of the
method and are checked against its constructor.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field, to_builtins

from mlfs_dask._typing import Conventions, Impute

SCHEMA: Final = 1
BASELINE: Final = "all"
"""Selector column of the baseline: the classifier on all features."""
DEFAULT_METRICS: Final = (
    "hamming_loss",
    "one_error",
    "coverage",
    "ranking_loss",
    "average_precision",
)

Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the job file."""


class Data(_Table, frozen=True, kw_only=True):
    """What to run on."""

    store: Annotated[
        str | tuple[str, ...],
        Meta(description="Name in the catalogue or path of a store; a list runs all of them."),
    ]
    impute: Annotated[
        Impute,
        Meta(
            description="How methods without a rule for missing values get them filled: 'mean' "
            "takes the mean (nominal: the mode) of the training rows."
        ),
    ] = "none"

    @property
    def stores(self) -> tuple[str, ...]:
        """The stores as a list, whichever way they were given."""
        return (self.store,) if isinstance(self.store, str) else self.store


class Method(_Table, frozen=True, kw_only=True):
    """A registered method with its parameters.

    Attributes
    ----------
    params
        All parameters of the constructor, defaults included.
    """

    method: Annotated[str, Meta(description="Registered name, see `mlfs methods`.")]
    label: Annotated[
        str, Meta(description="Name in tables; by default made of the method and its options.")
    ]
    params: dict[str, Any] = field(default_factory=dict)


class Select(Method, frozen=True, kw_only=True):
    """One selector."""

    final: Annotated[
        bool, Meta(description="Whether to select on all rows too, besides the training folds.")
    ] = True


class Classify(Method, frozen=True, kw_only=True):
    """One classifier that judges the selectors."""


class Split(_Table, frozen=True, kw_only=True):
    """How rows are parted into training and test rows."""

    kind: Annotated[
        Literal["kfold", "holdout"],
        Meta(description="'kfold' deals all rows; 'holdout' takes the split the store came with."),
    ] = "kfold"
    folds: Annotated[int, Meta(ge=2, le=1_000_000, description="Number of folds of kfold.")] = 10
    repeats: Annotated[
        int, Meta(ge=1, le=10_000, description="How often kfold deals the rows, each time anew.")
    ] = 1


class Features(_Table, frozen=True, kw_only=True):
    """How many features the classifiers get; either key, not both."""

    fractions: Annotated[
        tuple[Share, ...] | None, Meta(description="Shares of the features, above 0, at most 1.")
    ] = None
    counts: Annotated[tuple[Count, ...] | None, Meta(description="Numbers of features.")] = None


class Evaluate(_Table, frozen=True, kw_only=True):
    """How selectors are judged; without this table the job only selects."""

    split: Split = field(default_factory=Split)
    features: Features = field(
        default_factory=lambda: Features(fractions=tuple(i / 10 for i in range(1, 11)))
    )
    baseline: Annotated[
        bool, Meta(description="Whether to judge the classifiers on all features too.")
    ] = True
    metrics: Annotated[tuple[str, ...], Meta(description="See `mlfs methods metrics`.")] = (
        DEFAULT_METRICS
    )
    conventions: Annotated[
        Conventions, Meta(description="Whose rules the metrics follow where packages differ.")
    ] = "default"
    strict: Annotated[
        bool, Meta(description="Refuse the job if a label is constant in a training fold.")
    ] = False
    classifier: tuple[Classify, ...]


class Run(_Table, frozen=True, kw_only=True):
    """How to run; never changes numbers."""

    workers: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Worker processes; 0 runs in this process. By default small jobs run in "
            "this process and others on one worker per core.",
        ),
    ] = None
    memory_per_worker: Annotated[
        str | None, Meta(description="Limit of a worker, for example '4 GiB'.")
    ] = None


class Job(_Table, frozen=True, kw_only=True):
    """A whole job."""

    schema: Annotated[Literal[1], Meta(description="Version of the job file's format.")]
    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}(?![\s\S])",
            description="First part of the run's id: letters, digits, '.', '_' and '-'.",
        ),
    ]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Seed of all random streams.")] = 0
    data: Data
    select: tuple[Select, ...] = ()
    evaluate: Evaluate | None = None
    run: Run = field(default_factory=Run)

    def resolved(self) -> dict[str, Any]:
        """The job as plain values with all defaults, for ``resolved.json``."""
        values: dict[str, Any] = to_builtins(self)
        return values
