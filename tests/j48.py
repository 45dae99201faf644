"""WEKA's J48 beside ours: problems, WEKA's answers, what is kept of them in cases/c45-weka.json.

WEKA comes as a jar inside the package of the extra `weka`, or `MLFS_WEKA_JAR` names one; java 11 or
later runs it. From the checkout, with a folder of real data in `MLFS_DATA`::

    python tests/j48.py > tests/cases/c45-weka.json
"""

import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mlfs_dask.storage.readers.arff_header import read_declarations

DEFAULTS = {"confidence": 0.25, "min_objects": 2, "prune": True, "subtree_raising": True}
UCI = (
    "breast-cancer",
    "breast-w",
    "colic",
    "credit-a",
    "credit-g",
    "diabetes",
    "heart-statlog",
    "hepatitis",
    "ionosphere",
    "kr-vs-kp",
    "labor",
    "mushroom",
    "sick",
    "tic-tac-toe",
)


class Table(NamedTuple):
    """Rows, classes, values of nominal features (0: numeric), number of classes."""

    X: np.ndarray
    y: np.ndarray
    n_values: np.ndarray
    n_classes: int


@dataclass(frozen=True)
class Problem:
    """Training and test rows, and how to grow a tree."""

    train: Table
    test: Table
    weights: np.ndarray | None = None
    rules: dict = field(default_factory=dict)


class Answer(NamedTuple):
    """Size of a tree and the class frequencies it gives test rows."""

    leaves: int
    nodes: int
    shares: np.ndarray


# --- problems --------------------------------------------------------------------------------


def _made(seed, n_values, *, classes=2, missing=0.0, levels=0, noise=0.15, weighted=False, **rules):
    """300 training and 100 test rows; RandomState, since its streams never change."""
    rng = np.random.RandomState(seed)
    n_values = np.array(n_values)
    drawn = rng.random_sample((400, len(n_values)))
    numbers = np.floor(drawn * levels) / 8 if levels else drawn
    X = np.where(n_values > 0, np.floor(drawn * n_values), numbers)
    scaled = X / np.maximum(n_values - 1, 1)
    score = scaled @ rng.random_sample(len(n_values)) + (scaled[:, 0] > 0.5) * scaled[:, 1]
    edges = np.quantile(score, np.arange(1, classes) / classes)
    y = np.searchsorted(edges, score)
    flipped = rng.random_sample(400) < noise
    y[flipped] = rng.randint(0, classes, flipped.sum())
    y[:classes] = np.arange(classes)
    X[rng.random_sample(X.shape) < missing] = np.nan
    weights = rng.randint(1, 7, 300) / 2 if weighted else None
    train, test = (
        Table(X[rows], y[rows], n_values, classes) for rows in np.split(np.r_[:400], [300])
    )
    return Problem(train, test, weights, rules)


MADE = {
    "numeric": lambda: _made(1, [0] * 8),
    "numeric-ties": lambda: _made(2, [0] * 8, levels=6),
    "nominal": lambda: _made(3, [2, 3, 4, 5, 3, 2, 3], classes=3),
    "mixed": lambda: _made(4, [0, 3, 0, 2, 0, 5]),
    "many-valued": lambda: _made(5, [150, 0, 3, 120], noise=0.0, prune=False),
    "all-many-valued": lambda: _made(6, [100, 120, 95], noise=0.0, prune=False),
    "missing": lambda: _made(7, [0, 3, 0, 2, 0, 5], missing=0.1),
    "much-missing": lambda: _made(8, [0, 3, 0, 2, 0, 5], missing=0.4, noise=0.05),
    "classes": lambda: _made(9, [0] * 6 + [3, 3], classes=12, missing=0.05),
    "weights": lambda: _made(10, [0, 3, 0, 2], levels=20, missing=0.05, weighted=True),
    "noise": lambda: _made(11, [3] * 8, noise=0.6, missing=0.02, confidence=0.5),
    "careful": lambda: _made(12, [0, 3, 0, 2, 0, 5], missing=0.1, confidence=0.05, min_objects=6),
    "unpruned": lambda: _made(13, [0, 3, 0, 2, 0, 5], missing=0.1, noise=0.4, prune=False),
    "not-raised": lambda: _made(14, [3] * 8, noise=0.4, missing=0.05, subtree_raising=False),
}


def read_arff(path):
    """A single-label ARFF file as it is: codes in the order of declaration, the class last."""
    names = [attribute.values for attribute in read_declarations(path).attributes]
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [line for line in map(str.strip, lines[start + 1 :]) if line and line[0] != "%"]
    cells = csv.reader((row.replace("'", '"') for row in rows), skipinitialspace=True)
    columns = []
    for values, column in zip(names, zip(*cells, strict=True), strict=True):
        codes = {value: float(code) for code, value in enumerate(values or ())} | {"?": np.nan}
        texts = map(str.strip, column)
        columns.append([codes[text] if text in codes else float(text) for text in texts])
    n_values = np.array([len(values or ()) for values in names])
    table = np.array(columns).T
    return Table(table[:, :-1], table[:, -1].astype(int), n_values[:-1], int(n_values[-1]))


def uci_problems(folder, name):
    """All rows as training and test rows; two of three rows against the third."""
    table = read_arff(folder / "uci" / f"{name}.arff")
    third = np.arange(len(table.y)) % 3 == 0
    train, test = (table._replace(X=table.X[rows], y=table.y[rows]) for rows in (~third, third))
    return {"whole": Problem(table, table), "thirds": Problem(train, test)}


# --- WEKA ------------------------------------------------------------------------------------


def weka_jar():
    """The jar, or None if there is none or no java."""
    found = os.environ.get("MLFS_WEKA_JAR")
    if found is None and (spec := importlib.util.find_spec("weka")):
        found = next((f"{place}/lib/weka.jar" for place in spec.submodule_search_locations), None)
    return Path(found) if found and Path(found).is_file() and shutil.which("java") else None


def weka_version(jar):
    """The version of a jar."""
    shown = _java(jar, "weka.core.Version")
    return re.search(r"^\d+\.\d+\.\d+$", shown, re.MULTILINE)[0]


def ask_weka(jar, problem):
    """J48's answer to a problem."""
    rules = DEFAULTS | problem.rules
    options = ["-M", str(rules["min_objects"])]
    options += ["-C", str(rules["confidence"])] if rules["prune"] else ["-U"]
    # Without pruning nothing is raised either.
    options += ["-S"] if rules["prune"] and not rules["subtree_raising"] else []
    classifier = ["weka.classifiers.trees.J48", *options]
    shares, shown = ask_classifier(jar, classifier, problem.train, problem.test, problem.weights)
    leaves, nodes = (
        int(re.search(rf"{words}\s*:\s*(\d+)", shown)[1])
        for words in ("Number of Leaves", "Size of the tree")
    )
    return Answer(leaves, nodes, shares)


def ask_classifier(jar, classifier, train, test, weights=None):
    """What a classifier of WEKA, a class and its options, learns from some rows and says of others.

    Returns probabilities of shape (n_rows, n_classes), and the model as WEKA shows it.
    """
    name, *options = classifier
    with tempfile.TemporaryDirectory() as folder:
        learned, asked, out = (Path(folder, end) for end in ("train.arff", "test.arff", "out.csv"))
        _write_arff(learned, train, weights)
        _write_arff(asked, test, None)
        output = "weka.classifiers.evaluation.output.prediction.CSV -distribution -decimals 15"
        said = ["-T", str(asked), "-classifications", f"{output} -file {out} -suppress"]
        command = [name, "-t", str(learned), *options]
        _java(jar, *command, *said)
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        shown = _java(jar, *command, "-no-cv")
    k = train.n_classes
    proba = [[float(cell.lstrip("*")) for cell in row[4 : 4 + k]] for row in rows if row]
    return np.array(proba), shown


def _java(jar, *arguments):
    command = ["java", "-Xmx1g", "-cp", str(jar), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _write_arff(path, table, weights):
    lines = ["@relation made"]
    for r, values in enumerate([*table.n_values, table.n_classes]):
        kind = f"{{{','.join(f'v{v}' for v in range(values))}}}" if values else "numeric"
        lines.append(f"@attribute a{r} {kind}")
    lines.append("@data")
    for i, row in enumerate(table.X.tolist()):
        cells = [
            "?" if np.isnan(value) else f"v{int(value)}" if n else repr(value)
            for value, n in zip(row, table.n_values, strict=True)
        ]
        weight = [] if weights is None else [f"{{{weights[i]}}}"]
        lines.append(",".join([*cells, f"v{table.y[i]}", *weight]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# --- what is kept ----------------------------------------------------------------------------


def summary(problem, answer):
    """Sizes, test errors, and a number per class that tells which row got which frequencies."""
    shares = answer.shares
    best = np.argmax(shares.round(6), axis=1)
    place = np.cos(np.arange(1, len(shares) + 1))
    return {
        "leaves": answer.leaves,
        "nodes": answer.nodes,
        "errors": int((best != problem.test.y).sum()),
        "print": [round(float(place @ column), 6) for column in shares.T],
    }


def main():
    jar, data = weka_jar(), Path(os.environ["MLFS_DATA"])
    if jar is None:
        sys.exit("no WEKA: install the extra `weka` and java, or name a jar in MLFS_WEKA_JAR")
    made = {name: make() for name, make in MADE.items()}
    real = {
        f"{name}-{part}": problem
        for name in UCI
        for part, problem in uci_problems(data, name).items()
    }
    kept = {
        "command": "python tests/j48.py > tests/cases/c45-weka.json",
        "made_by": f"WEKA {weka_version(jar)}, weka.classifiers.trees.J48",
        "made": {name: summary(p, ask_weka(jar, p)) for name, p in made.items()},
        "uci": {name: summary(p, ask_weka(jar, p)) for name, p in real.items()},
    }
    print(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
