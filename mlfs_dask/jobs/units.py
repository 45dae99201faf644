"""Units: what a job is made of, each done once and kept.

A *select* unit ranks the features on the training rows of one fold, or on all rows; a *judge* unit
measures a classifier along one ranking (or on all features: the baseline). Judging needs the
selection of the same fold, everything else is independent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct, structs, to_builtins

from mlfs_dask.jobs.digest import canonical_json
from mlfs_dask.jobs.spec import BASELINE, Job


class Unit(Struct, frozen=True, kw_only=True, dict=True):
    """One piece of work with one result.

    Attributes
    ----------
    kind
        ``"select"`` or ``"judge"``.
    dataset
        Name of the data set.
    selector
        Label of the selector, or ``"all"`` for the baseline.
    classifier
        Label of the classifier; None for selections.
    repeat, fold
        0-based; both None for the selection on all rows.
    size_of
        Label of the selector whose number of selected features says how many are judged; None
        where the job says it.
    with_labels
        Label of the selector for single labels that goes with one for pairs of labels.
    """

    kind: Literal["select", "judge"]
    dataset: str
    selector: str
    classifier: str | None = None
    repeat: int | None = None
    fold: int | None = None
    size_of: str | None = None
    with_labels: str | None = None

    @cached_property
    def id(self) -> str:
        """Name that is safe for files and the same in every run of the job."""
        values = to_builtins(self)
        if self.with_labels is None:
            del values["with_labels"]
        key = hashlib.sha256(canonical_json(values)).hexdigest()
        return f"{self.kind}-{key[:20]}"

    @cached_property
    def needs(self) -> tuple[Unit, ...]:
        """The selections this unit needs: first the one it judges, last the one it is sized by."""
        if self.kind == "select" or self.selector == BASELINE:
            return ()
        labels = dict.fromkeys((self.selector, self.with_labels, self.size_of))
        return tuple(self._selection(label) for label in labels if label is not None)

    def _selection(self, label: str) -> Unit:
        return Unit(
            kind="select",
            dataset=self.dataset,
            selector=label,
            repeat=self.repeat,
            fold=self.fold,
        )

    def __str__(self) -> str:
        where = "all rows" if self.fold is None else f"repeat {self.repeat}, fold {self.fold}"
        what = self.selector if self.classifier is None else f"{self.selector} / {self.classifier}"
        return f"{self.kind} {what} on {self.dataset}, {where}"


def part_for(job: Job, units: Sequence[Unit]) -> Job:
    """What some units need of a job: without the other entries, which may be thousands.

    Parameters
    ----------
    job
        Resolved job.
    units
        Some of its units.
    """
    labels = {label for u in units for label in (u.selector, u.size_of, u.with_labels)}
    names = {unit.classifier for unit in units}
    evaluate = job.evaluate
    if evaluate is not None:
        classifiers = tuple(c for c in evaluate.classifier if c.label in names)
        evaluate = structs.replace(evaluate, classifier=classifiers)
    selects = tuple(select for select in job.select if select.label in labels)
    return structs.replace(job, select=selects, evaluate=evaluate, sweep={})


def units_of(job: Job, datasets: Sequence[str]) -> list[Unit]:
    """All units of a job, in the order of data sets, repeats, folds, selectors, classifiers.

    Parameters
    ----------
    job
        Resolved job.
    datasets
        Names of its data sets.
    """
    return [unit for dataset in datasets for unit in _units_on(job, dataset)]


def _units_on(job: Job, dataset: str) -> Iterator[Unit]:
    if job.evaluate is not None:
        split = job.evaluate.split
        folds = 1 if split.kind == "holdout" else split.folds
        for repeat in range(split.repeats):
            for fold in range(folds):
                yield from _units_in_fold(job, dataset, repeat, fold)
    for select in job.selects_on(dataset):
        if select.final or job.evaluate is None:
            yield Unit(kind="select", dataset=dataset, selector=select.label)


def _units_in_fold(job: Job, dataset: str, repeat: int, fold: int) -> Iterator[Unit]:
    assert job.evaluate is not None
    size_of = {select.label: job.features_of(select).size_of for select in job.selects_on(dataset)}
    for selector in size_of:
        yield Unit(kind="select", dataset=dataset, selector=selector, repeat=repeat, fold=fold)
    if job.evaluate.baseline:
        size_of[BASELINE] = None
    for selector, sized_by in size_of.items():
        for classifier, with_labels in job.judges_of(selector):
            yield Unit(
                kind="judge",
                dataset=dataset,
                selector=selector,
                classifier=classifier.label,
                repeat=repeat,
                fold=fold,
                size_of=sized_by,
                with_labels=with_labels,
            )
