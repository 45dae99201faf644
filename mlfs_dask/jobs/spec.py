"""What a job says, as typed records: every key of a job file is declared here once.

Those of ``[compare]`` stand in `mlfs_dask.jobs.compare_spec`.
`mlfs_dask.jobs.jobfile` reads TOML into these; ``jobs/schema.json`` is printed from them. The keys
of ``[[select]]``, its ``prefilter`` and ``[[evaluate.classifier]]`` that are not declared here are
parameters of the method and are checked against its constructor.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field, to_builtins

from mlfs_dask._typing import Conventions, Impute
from mlfs_dask.jobs.compare_spec import Compare

STORE_COSTS: Final = "store"
"""Value of ``data.costs`` that takes the costs the stores came with."""
COST_KEYS: Final = {"uniform": ("low", "high"), "normal": ("mean", "std")}
"""Keys of each distribution of costs."""
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


class Missing(_Table, frozen=True, kw_only=True):
    """Cells of X made missing at random, the same for every selector and fold."""

    rate: Annotated[float, Meta(ge=0, le=1, description="Share of the cells, 0 to 1.")]


class Costs(_Table, frozen=True, kw_only=True):
    """Test costs of the features, drawn from a distribution."""

    distribution: Annotated[
        Literal["uniform", "normal"],
        Meta(description="'uniform' from low to high; 'normal', where draws below 0 become 0."),
    ]
    low: Annotated[float, Meta(ge=0)] | None = None
    high: Annotated[float, Meta(ge=0)] | None = None
    mean: float | None = None
    std: Annotated[float, Meta(ge=0)] | None = None


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
    missing: Annotated[
        Missing | None, Meta(description="Make cells of X missing, to see what methods do then.")
    ] = None
    costs: Annotated[
        Costs | str | None,
        Meta(
            description="Test costs of the features: a distribution to draw them from, 'store' "
            "for those the stores came with, or the path of a CSV file, relative to the job file. "
            "By default the store's where it has some."
        ),
    ] = None

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


class Prefilter(_Table, frozen=True, kw_only=True):
    """A quick selection before another: only its best features go on.

    Attributes
    ----------
    params
        All parameters of the constructor, defaults included.
    """

    method: Annotated[str, Meta(description="Registered name, see `mlfs methods`.")]
    n: Annotated[Count, Meta(description="How many of its best features go on.")]
    params: dict[str, Any] = field(default_factory=dict)


class Features(_Table, frozen=True, kw_only=True):
    """How many features the classifiers get; exactly one of the keys."""

    fractions: Annotated[
        tuple[Share, ...] | None, Meta(description="Shares of the features, above 0, at most 1.")
    ] = None
    counts: Annotated[tuple[Count, ...] | None, Meta(description="Numbers of features.")] = None
    selected: Annotated[
        bool, Meta(description="true: the features that each selector selects by itself.")
    ] = False
    size_of: Annotated[
        str | None,
        Meta(description="As many of the best as the selector of this label selects by itself."),
    ] = None


class Select(Method, frozen=True, kw_only=True):
    """One selector."""

    final: Annotated[
        bool, Meta(description="Whether to select on all rows too, besides the training folds.")
    ] = True
    prefilter: Annotated[
        Prefilter | None,
        Meta(description="A quick selection on the same rows that picks the candidates."),
    ] = None
    datasets: Annotated[
        tuple[str, ...] | None, Meta(description="Data sets to select on; by default all.")
    ] = None
    features: Annotated[
        Features | None, Meta(description="Instead of evaluate.features for this selector.")
    ] = None
    follow: Annotated[
        bool,
        Meta(
            description="Whether the selection on all rows waits for blocks of features that are "
            "appended to the store, until it is closed or the selector stops."
        ),
    ] = False


class Classify(Method, frozen=True, kw_only=True):
    """One classifier that judges the selectors."""


class Split(_Table, frozen=True, kw_only=True):
    """How rows are parted into training and test rows."""

    kind: Annotated[
        Literal["kfold", "iterative", "groups", "holdout"],
        Meta(
            description="'kfold' deals all rows; 'iterative' deals them so that every fold has its "
            "part of each label; 'groups' keeps rows of one group together; 'holdout' takes the "
            "split the store came with."
        ),
    ] = "kfold"
    folds: Annotated[int, Meta(ge=2, le=1_000_000, description="Number of folds.")] = 10
    repeats: Annotated[
        int, Meta(ge=1, le=10_000, description="How often the rows are dealt, each time anew.")
    ] = 1
    column: Annotated[
        str | None,
        Meta(
            description="For 'groups': path of a file with the group of each row, one a line, "
            "relative to the job file."
        ),
    ] = None


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
    priority: Annotated[
        int,
        Meta(
            ge=-100,
            le=100,
            description="On a cluster that several jobs share: those with a higher one go first.",
        ),
    ] = 0
    most_at_once: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Tasks on a cluster at the same time, at most; by default no limit."),
    ] = None


class InputFile(_Table, frozen=True, kw_only=True):
    """A file that a job names.

    Attributes
    ----------
    path
        Where it lies: the original until a run starts, then the run's own copy.
    sha256
        Of its content, in hexadecimal.
    """

    path: str
    sha256: str


class Pairs(_Table, frozen=True, kw_only=True):
    """Selections that entries with ``order = "auto"`` became, and who is judged with which.

    Attributes
    ----------
    selectors
        Label of the selection for pairs of labels -> label of the one for labels.
    classifiers
        Labels of the classifiers with models of pairs. They get both selections; the others get
        the second one alone.
    """

    selectors: dict[str, str]
    classifiers: tuple[str, ...]


class JobFile(_Table, frozen=True, kw_only=True, dict=True):
    """All keys of a job file."""

    schema: Annotated[Literal[1], Meta(description="Version of the job file's format.")]
    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}(?![\s\S])",
            description="First part of the run's id: letters, digits, '.', '_' and '-'.",
            extra={"words": "1 to 80 letters, digits, '.', '_' and '-', not these three first"},
        ),
    ]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Seed of all random streams.")] = 0
    data: Data
    select: tuple[Select, ...] = ()
    evaluate: Evaluate | None = None
    sweep: Annotated[
        dict[str, tuple[Any, ...]],
        Meta(
            description="Values to try: 'select.N.KEY' or 'evaluate.classifier.N.KEY' and a list; "
            "keys of one entry are combined."
        ),
    ] = field(default_factory=dict)
    compare: Annotated[
        Compare | None, Meta(description="Tests of significance over the methods.")
    ] = None
    run: Run = field(default_factory=Run)


class Job(JobFile, frozen=True, kw_only=True):
    """A job, checked and with all defaults.

    Attributes
    ----------
    select, evaluate
        With one entry per point of ``sweep``, which stands for information only.
    files
        Key that names a file -> the file.
    pairs
        None unless an entry was made two by its order.
    """

    files: dict[str, InputFile] = field(default_factory=dict)
    pairs: Pairs | None = None

    @cached_property
    def selects(self) -> dict[str, Select]:
        """Label -> selector."""
        return {select.label: select for select in self.select}

    @cached_property
    def classifiers(self) -> dict[str, Classify]:
        """Label -> classifier."""
        methods = () if self.evaluate is None else self.evaluate.classifier
        return {method.label: method for method in methods}

    def selects_on(self, dataset: str) -> list[Select]:
        """Selectors that run on a data set, in order.

        Parameters
        ----------
        dataset
            Its name.
        """
        return [s for s in self.select if s.datasets is None or dataset in s.datasets]

    def follows(self, dataset: str) -> bool:
        """Whether a selector of the job waits for blocks of a data set.

        Parameters
        ----------
        dataset
            Its name.
        """
        return any(select.follow for select in self.selects_on(dataset))

    def judges_of(self, selector: str) -> list[tuple[Classify, str | None]]:
        """Classifiers that judge a selector, with the selector of labels that goes with it.

        Parameters
        ----------
        selector
            Its label, or the baseline's.
        """
        found = list(self.classifiers.values())
        if self.pairs is None:
            return [(method, None) for method in found]
        partner, of_pairs = self.pairs.selectors.get(selector), self.pairs.classifiers
        if partner is not None:
            return [(method, partner) for method in found if method.label in of_pairs]
        if selector in self.pairs.selectors.values():
            return [(method, None) for method in found if method.label not in of_pairs]
        return [(method, None) for method in found]

    def features_of(self, select: Select) -> Features:
        """At how many features a selector is judged.

        Parameters
        ----------
        select
            One of the job's, which has an [evaluate] table.
        """
        assert self.evaluate is not None
        return select.features or self.evaluate.features

    def resolved(self) -> dict[str, Any]:
        """The job as plain values with all defaults, for ``resolved.json``."""
        values: dict[str, Any] = to_builtins(self)
        if self.pairs is None:
            del values["pairs"]
        return values
