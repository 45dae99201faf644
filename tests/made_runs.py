"""Run folders made up: any names, sizes, costs, problems and incidents, with nothing computed."""

import csv
import json

import numpy as np

from mlfs_dask.jobs.compare_runs import compare_runs
from mlfs_dask.jobs.evaluation import COLUMNS
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import RunFolder

VERSIONS = {"mlfs-dask": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"}
SCRIPT = "<script>alert('1')</script> & \"ö\""
LONG = "a very long name " * 20  # 340 characters
RIGHT_TO_LEFT = "\u202eשלום عالم مرحبا\u202e"
EMOJI = "🎸👩‍🔬 feature 🇨🇭"
CONTROL = "nul\x00 and \x1b[31m"
TEMPLATE = "]]>--><!--{{ 7 * 7 }}"
HOSTILE = (SCRIPT, LONG, RIGHT_TO_LEFT, EMOJI, "x" * 300, CONTROL, TEMPLATE)


class MadeRun:
    """What a run folder will hold; change its attributes, then `write` it.

    The job has one data set of 20 features, two selectors and a classifier, 2 x 3 folds.
    """

    def __init__(self, name="made", seed=0):
        self.rng = np.random.default_rng(seed)
        self.name, self.seed, self.state = name, seed, "done"
        self.features = {"songs": [f"feature {i}" for i in range(20)]}
        self.labels = {"songs": ["happy", "sad", "calm"]}
        self.truth = None
        self.digests = {"songs": "d1" * 32}
        self.select = [method("spec", "SPEC"), method("mllap", "MLLAP")]
        self.classifiers = [method("mlknn", "ML-kNN", n_neighbors=10)]
        self.metrics = ["hamming_loss", "average_precision"]
        self.split = {"kind": "kfold", "folds": 3, "repeats": 2}
        self.counts = [2, 5, 10, 20]
        self.baseline = True
        self.has_costs = False
        self.data = {"store": "songs", "impute": "none"}
        self.versions = dict(VERSIONS)
        self.conventions = "default"
        self.notes = {}
        self.events = []
        self.records = {}

    def value(self, metric, selector, count, d):
        """A measure of one fold: best at half of the features."""
        away = abs(count / d - 0.5) * 0.2 + 0.01 * self.rng.normal()
        return 0.8 - away if metric in ("average_precision", "auc_macro") else 0.2 + away

    def record(self, dataset, selector, fold):
        """The selection of a selector; `records` holds those that are told."""
        told = self.records.get(selector["label"])
        if told is not None:
            return told(dataset, fold)
        d = len(self.features[dataset])
        order = self.rng.permutation(d).tolist()
        return selection(order, [1 - order.index(f) / d for f in range(d)])

    def write(self, runs):
        folder = RunFolder(runs / f"{self.name}-0123456789")
        folder.units.mkdir(parents=True)
        _dump(folder.resolved, self._job())
        _dump(folder.datasets, {name: self._described(name) for name in self.features})
        _dump(folder.manifest, self._manifest(folder.id))
        selections, rows, units = self._results()
        _dump(folder.results, {"format": 1, "run": folder.id, "selections": selections})
        with folder.evaluation.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(rows, key=str)])
        total = {"format": 1, "unit_seconds": 0.5 * len(units), "units": units}
        _dump(folder.timings, total)
        with Journal(folder.journal) as journal:
            for event, facts in self.events or self._events(len(units)):
                journal.append(event, **facts)
        folder.write_state(self.state, done=len(units), total=len(units))
        return open_run(folder.path)

    def _job(self):
        evaluate = {
            "split": self.split,
            "features": {"fractions": None, "counts": self.counts},
            "baseline": self.baseline,
            "metrics": self.metrics,
            "conventions": self.conventions,
            "strict": False,
            "classifier": self.classifiers,
        }
        return {
            "schema": 1,
            "name": self.name,
            "seed": self.seed,
            "data": self.data,
            "select": self.select,
            "evaluate": evaluate if self.classifiers else None,
            "run": {"workers": 0},
        }

    def _described(self, name):
        return {"features": self.features[name], "labels": self.labels[name], "truth": self.truth}

    def _manifest(self, run):
        return {
            "format": 1,
            "run": run,
            "name": self.name,
            "job_digest": "0123456789" * 6 + "abcd",
            "seed": self.seed,
            "datasets": [
                {
                    "name": name,
                    "path": f"/nowhere/{name}.zarr",
                    "digest": self.digests[name],
                    "tile": 4096,
                    "n_samples": 1234,
                    "n_features": len(features),
                    "n_labels": len(self.labels[name]),
                }
                for name, features in self.features.items()
            ],
            "versions": self.versions,
            "machine": {"processor": "x86_64", "system": "Linux"},
            "created": "2026-01-02T03:04:05+00:00",
        }

    def _folds(self):
        repeats, folds = self.split.get("repeats", 1), self.split.get("folds", 1)
        return [(r, f) for r in range(repeats) for f in range(folds)] if self.classifiers else []

    def _results(self):
        selections, rows, units = [], [], []
        for dataset in self.features:
            for repeat, fold in [*self._folds(), (None, None)]:
                for selector in self.select:
                    where = {"dataset": dataset, "selector": selector["label"]}
                    number = {"repeat": repeat, "fold": fold}
                    selections.append(
                        {**where, "method": selector["method"], "params": selector["params"]}
                        | number
                        | self.record(dataset, selector, fold)
                    )
                    units.append(self._unit("select", selector["label"], None, dataset, number))
                if fold is not None:
                    rows += self._rows(dataset, repeat, fold, units)
        return selections, rows, units

    def _rows(self, dataset, repeat, fold, units):
        d = len(self.features[dataset])
        selectors = [(s["label"], self.counts) for s in self.select]
        rows = []
        for label, counts in [*selectors, *([("all", [d])] if self.baseline else [])]:
            for classifier in self.classifiers:
                number = {"repeat": repeat, "fold": fold}
                units.append(self._unit("judge", label, classifier["label"], dataset, number))
                for count in counts:
                    cost = (count / d) ** 2 if self.has_costs else ""
                    for metric in self.metrics:
                        value = self.value(metric, label, count, d)
                        place = (dataset, label, classifier["label"], repeat, fold)
                        value = "" if value is None else value
                        rows.append((*place, count, count / d, cost, metric, value, 100))
        return rows

    def _unit(self, kind, selector, classifier, dataset, number):
        notes = self.notes.get(selector, []) if kind == "select" else []
        names = {"kind": kind, "dataset": dataset, "selector": selector, "classifier": classifier}
        return {**names, **number, "seconds": 0.5, "worker": "host:1", "notes": notes}

    def _events(self, units):
        return [start(units), ("finish", {"state": self.state})]


def hostile_run():
    """A run whose every name is out to break a page; subsets, problems, costs, failures too."""
    made = MadeRun("hostile")
    d = 21
    made.features = {SCRIPT: [f"{name}{i}" for i in range(3) for name in HOSTILE]}
    made.labels = {SCRIPT: list(HOSTILE[:4])}
    made.digests = {SCRIPT: "e" * 64}
    made.select = [method("spec", name, text=name) for name in HOSTILE]
    made.classifiers = [method("mlknn", name) for name in HOSTILE[:2]]
    made.counts = [2, 5, 10, d]
    made.notes = {name: [name] for name in HOSTILE}
    made.has_costs = True
    made.state = "partial"
    made.events = [
        start(50),
        ("incident", {"message": SCRIPT}),
        failed(1, SCRIPT, LONG),
        ("stop", {"signal": "SIGINT", "cancelled": False}),
        start(50, done=20, workers=2),
        failed(2, HOSTILE[4]),
        failed(3, RIGHT_TO_LEFT),
        ("finish", {"state": "partial"}),
    ]
    made.records[LONG] = lambda dataset, fold: subset_record(made.rng, d)
    made.records[RIGHT_TO_LEFT] = lambda dataset, fold: problem_record(made.rng, d)
    return made


def compared_run(runs, *, selectors=("SPEC", "MLLAP", "variance"), datasets=6, **chosen):
    """A run over several data sets, at 5 features, with the tests that were chosen."""
    made = MadeRun("tested")
    made.features = {f"data {i}": [f"f{j}" for j in range(20)] for i in range(datasets)}
    made.labels = {name: ["happy", "sad"] for name in made.features}
    made.digests = dict.fromkeys(made.features, "d1" * 32)
    made.select = [method("spec", label) for label in selectors]
    made.data = {"store": list(made.features), "impute": "none"}
    run = made.write(runs)
    document = compare_runs([run], {"at": {"count": 5}, **chosen})
    _dump(run.path / "tests.json", {"format": 1, "run": run.id, **document})
    return open_run(run.path)


def subset_record(rng, d):
    """A selector that keeps 6 to 8 features of its own choice, with reasons that differ."""
    order = rng.permutation(d).tolist()
    kept = 6 + int(rng.integers(3))
    path = [
        {
            "step": i,
            "feature": f,
            "score": 0.5,
            "reason": ("core", "gain", SCRIPT)[i % 3],
            "ratio": i,
        }
        for i, f in enumerate(order[:kept])
    ]
    scores = [0.5 if f in order[:kept] else None for f in range(d)]
    kept = sorted(order[:kept])
    return selection(order, scores, support=kept, cost=12.5, path=path, stop="no feature gains")


def problem_record(rng, d):
    """A selector with a selection for each of three labels and for all four together."""
    orders = [rng.permutation(d).tolist() for _ in range(4)]
    supports = [sorted(order[:5]) for order in orders]
    problems = [[0], [1], [2], [0, 1, 2, 3]]
    return selection(orders, [[0.5] * d] * 4, support=supports, problems=problems)


def start(units, done=0, workers=0):
    facts = {"run": "r", "units": units, "done": done, "workers": workers, "versions": VERSIONS}
    return "start", facts


def failed(number, message, traceback="Traceback (most recent call last):\n  ..."):
    facts = {"unit": f"judge-{number}", "what": f"judge SPEC on songs, fold {number}"}
    facts |= {"worker": "host:1", "error": "ValueError", "message": message, "hint": None}
    return "failed", {**facts, "exit_code": 1, "traceback": traceback}


def method(name, label, **params):
    return {"method": name, "label": label, "params": params, "final": True}


def selection(order, scores, **others):
    """A record of ``results.json``: a ranking of all features, unless told otherwise."""
    record = {"problems": None, "order": order, "scores": scores, "higher_is_better": True}
    record |= {"support": sorted(order), "cost": None, "path": [], "stop": None}
    return record | others


def _dump(path, document):
    path.write_text(json.dumps(document), encoding="utf-8")
