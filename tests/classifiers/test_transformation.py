"""br, lp, rakel and clr against plain loops; curves, base learners, notes, conventions."""

import math

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.clr import CalibratedLabelRanking
from mlfs_dask.classifiers.lp import LabelPowerset
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import transformations as plain

NAMES = ["br", "lp", "rakel", "clr"]


@st.composite
def problems(draw):
    """Rows with ties and duplicates; labels that may be constant, rows that may have none."""
    n, d, q = draw(st.integers(2, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), (n + 3, d)).astype(np.float64)
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.1, 0.4, 0.7]))).astype(np.uint8)
    Y[:, rng.random(q) < 0.2] = 1
    Y[rng.random(n) < 0.2] = 0
    return X[:n], Y, X[n:], draw(st.integers(1, 3))


def by_neighbors(name, k, **options):
    return get_classifier(name, base="knn", base_params={"n_neighbors": k}, **options)


def asked(case):
    X, Y, queries, k = case
    return X.tolist(), Y.tolist(), queries.tolist(), plain.neighbor_shares(k)


@given(problems())
def test_binary_relevance_is_that_of_plain_loops(case) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("br", k).fit(X, Y)
    proba = fitted.predict_proba(queries)
    np.testing.assert_allclose(proba, np.array(plain.br(*asked(case)), dtype=float), rtol=1e-14)
    np.testing.assert_array_equal(fitted.predict(queries), proba >= 0.5)
    assert (proba.dtype, fitted.predict(queries).dtype) == (np.float64, np.uint8)


@given(problems())
def test_label_powerset_is_that_of_plain_loops(case) -> None:
    X, Y, queries, k = case
    expected = plain.lp(*asked(case))
    labels = np.array([found for found, _, _ in expected])
    share = np.array([float(top) for _, top, _ in expected])[:, None]
    marginal = [
        [float(sum(p for found, p in answer.items() if found[a])) for a in range(Y.shape[1])]
        for _, _, answer in expected
    ]
    for scores, proba in (
        ("votes", labels),
        ("confidence", np.where(labels, share, 1 - share)),
        ("marginal", marginal),
    ):
        fitted = by_neighbors("lp", k, scores=scores).fit(X, Y)
        np.testing.assert_array_equal(fitted.predict(queries), labels)
        np.testing.assert_allclose(fitted.predict_proba(queries), proba, atol=1e-14)
    assert set(map(tuple, labels.tolist())) <= set(map(tuple, Y.tolist()))


@given(problems(), st.integers(1, 3), st.integers(0, 5))
def test_rakel_is_that_of_plain_loops(case, size, seed) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("rakel", k, labelset_size=size, random_state=seed).fit(X, Y)
    expected = plain.rakel(*asked(case), fitted.labelsets_)
    proba = fitted.predict_proba(queries)
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_array_equal(fitted.predict(queries), proba >= 0.5)
    q = Y.shape[1]
    assert len(set(fitted.labelsets_)) == len(fitted.labelsets_)
    assert len(fitted.labelsets_) == (min(2 * q, math.comb(q, size)) if size < q else 1)
    assert all(list(s) == sorted(set(s)) and len(s) == min(q, size) for s in fitted.labelsets_)


@given(problems(), st.sampled_from(["hard", "soft"]))
def test_calibrated_label_ranking_is_that_of_plain_loops(case, votes) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("clr", k, votes=votes).fit(X, Y)
    proba, labels = fitted.predict_proba(queries), fitted.predict(queries)
    for row, found, (for_labels, virtual) in zip(
        proba, labels, plain.clr(*asked(case), votes == "soft"), strict=True
    ):
        share = [float(vote / Y.shape[1]) for vote in for_labels]
        np.testing.assert_allclose(row, share, rtol=1e-13)
        # Shares are fractions there, so votes that are equal are equal.
        assert found.tolist() == [vote >= virtual for vote in for_labels]
    np.testing.assert_array_equal(fitted.decide(proba), labels)


@settings(max_examples=15)
@given(problems(), st.sampled_from(NAMES), st.sampled_from([2, 5, 100]), st.booleans())
def test_each_point_of_a_curve_is_a_fit_to_its_features(case, name, tile, sparse) -> None:
    X, Y, queries, _ = case
    d = X.shape[1]
    order = np.random.default_rng(d).permutation(d)
    counts = [d, 1, max(1, d // 2), 1]
    wrap = sp.csr_matrix if sparse else np.asarray
    train, test = as_source(wrap(X), Y, tile=tile), as_source(wrap(queries), tile=tile)
    classifier = get_classifier(name, base="tree")
    outcomes = list(classifier.outcomes(train, test, order, counts))
    curve = list(classifier.curve(train, test, order, counts))
    assert [outcome.n_features for outcome in outcomes] == counts == [count for count, _ in curve]
    for outcome, (count, proba) in zip(outcomes, curve, strict=True):
        columns = order[:count]
        fitted = get_classifier(name, base="tree").fit(X[:, columns], Y)
        for found in (outcome.proba, proba):
            np.testing.assert_array_equal(found, fitted.predict_proba(queries[:, columns]))
        np.testing.assert_array_equal(outcome.labels, fitted.predict(queries[:, columns]))


@pytest.mark.parametrize("base", ["c45", "knn", "logistic", "naive-bayes", "svm-rbf", "tree"])
@pytest.mark.parametrize("name", NAMES)
def test_planted_labels_are_found_by_every_base_learner(name, base, four_labels) -> None:
    X, Y, queries, truth = four_labels
    fitted = get_classifier(name, base=base).fit(X, Y)
    predicted, proba = fitted.predict(queries), fitted.predict_proba(queries)
    agreement = (predicted == truth).mean(axis=0)
    assert min(agreement[0], agreement[1]) > 0.7
    assert proba.min() >= 0
    assert proba.max() <= 1
    # A label that is predicted scores no less than one that isn't.
    lowest = np.where(predicted == 1, proba, np.inf).min(axis=1)
    highest = np.where(predicted == 0, proba, -np.inf).max(axis=1)
    assert np.all(lowest >= highest)


@pytest.mark.parametrize("name", NAMES)
def test_all_kinds_of_input_give_the_same_bits(name, four_labels, tmp_path) -> None:
    X, Y, queries, _ = four_labels
    classifier = get_classifier(name, base="tree")
    expected = classifier.fit(X, Y).predict_proba(queries)
    lazy = da.from_array(X, chunks=(40, 3)), da.from_array(queries, chunks=(7, 5))
    store = ingest(ArrayTable(X, Y), tmp_path / "rows.zarr", tile=32)
    for rows, labels, others in (
        (X.tolist(), Y.tolist(), queries.tolist()),
        (sp.csr_matrix(X), sp.csr_matrix(Y), sp.csc_matrix(queries)),
        (*lazy[:1], Y, lazy[1]),
        (as_source(X, Y, tile=32), None, as_source(queries, tile=9)),
        (store, None, queries),
    ):
        found = classifier.fit(rows, labels).predict_proba(others)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_any_estimator_learns(name, four_labels) -> None:
    X, Y, queries, _ = four_labels
    base = DecisionTreeClassifier(max_depth=3, random_state=1)
    fitted = get_classifier(name, base=base).fit(X, Y)
    assert fitted.get_params()["base__max_depth"] == 3
    assert not hasattr(base, "tree_")
    if name == "br":
        for label in range(4):
            alone = base.fit(X, Y[:, label]).predict_proba(queries)[:, 1]
            np.testing.assert_array_equal(fitted.predict_proba(queries)[:, label], alone)


def test_notes_say_what_should_be_known(four_labels) -> None:
    X, Y, queries, _ = four_labels
    Y = Y.copy()
    Y[:, 2], Y[:, 3] = 0, Y[:, 0]
    train, test = as_source(X, Y), as_source(queries)
    classifier = CalibratedLabelRanking("logistic", {"max_iter": 1}, votes="soft")
    first, last = classifier.outcomes(train, test, np.arange(5), [1, 5])
    assert first.notes == ("base learner: logistic (ridge 1e-08, max_iter 1)", "votes: soft")
    told = dict(note.rsplit(": ", 1) for note in last.notes)
    # (0, 3) has no row; (0, 2), (1, 2), (2, 3) and (2,) have one class: 10 models at 2 points.
    assert told["no training row, no answer"] == "2 of 20 models"
    assert told["training rows of one class, which is the answer"] == "8 of 20 models"
    assert "logistic: the likelihood still rose after 1 step" in told
    (only,) = LabelPowerset("tree", conventions="mulan").outcomes(train, test, np.arange(5), [5])
    assert "scores of label sets: confidence" in only.notes


def test_conventions_of_mulan_score_label_sets_by_confidence(four_labels) -> None:
    X, Y, queries, _ = four_labels
    votes, confidence, named = (
        by_neighbors("lp", 7, **options).fit(X, Y)
        for options in ({}, {"conventions": "mulan"}, {"scores": "confidence"})
    )
    proba = confidence.predict_proba(queries)
    np.testing.assert_array_equal(proba, named.predict_proba(queries))
    assert set(votes.predict_proba(queries).ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(confidence.predict(queries), votes.predict(queries))
    np.testing.assert_array_equal(
        votes.decide(votes.predict_proba(queries)), votes.predict(queries)
    )
    with pytest.raises(InputError, match="cannot be told from scores = 'confidence'"):
        confidence.decide(proba)


def test_conventions_of_zhang_scale_nothing_unless_told(four_labels) -> None:
    X, Y, queries, _ = four_labels
    X, queries = X * [1, 10, 100, 1, 1], queries * [1, 10, 100, 1, 1]

    def proba(**options):
        return get_classifier("br", base="knn", **options).fit(X, Y).predict_proba(queries)

    raw, scaled = (proba(base_params={"normalize": how}) for how in ("none", "minmax"))
    assert np.any(raw != scaled)
    np.testing.assert_array_equal(proba(conventions="zhang"), raw)
    np.testing.assert_array_equal(proba(), scaled)
    explicit = proba(conventions="zhang", base_params={"normalize": "minmax"})
    np.testing.assert_array_equal(explicit, scaled)


@pytest.mark.cluster
def test_a_cluster_gives_the_same_bits(four_labels) -> None:
    from distributed import Client, LocalCluster

    X, Y, queries, _ = four_labels
    order = np.random.default_rng(5).permutation(5)

    def results():
        found = []
        for name, base in (
            ("br", "logistic"),
            ("lp", "c45"),
            ("rakel", "tree"),
            ("clr", "svm-rbf"),
        ):
            classifier = get_classifier(name, base=base)
            train, test = as_source(X, Y, tile=32), as_source(queries, tile=16)
            found += [proba for _, proba in classifier.curve(train, test, order, [1, 5])]
            fitted = classifier.fit(train)
            found += [fitted.predict_proba(queries), fitted.predict(queries)]
        return found

    expected = results()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        found = results()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
