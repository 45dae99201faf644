"""What br, lp, rakel and clr draw: streams of models, subsets of labels."""

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.rakel import RAkEL, draw_subsets
from mlfs_dask.graphs.source import as_source
from mlfs_dask.jobs.streams import classifier_stream


def test_models_draw_from_streams_of_their_own() -> None:
    """Model i of a job's classifier has the stream (4, crc32(label), repeat, fold, i)."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 3)), rng.integers(0, 2, (30, 3))
    stream = classifier_stream(7, "trees", 1, 2)
    fitted = get_classifier("br", base="tree", random_state=stream).fit(X, Y)
    for number, model in enumerate(fitted.models_):
        own = classifier_stream(7, "trees", 1, 2, number).generate_state(1)[0]
        assert model.model.tree.random_state == own
    integer = get_classifier("br", base="tree", random_state=7).fit(X, Y)
    assert (
        integer.models_[1].model.tree.random_state
        == (np.random.SeedSequence(7, spawn_key=(1,)).generate_state(1)[0])
    )


def test_the_same_seed_draws_the_same_distinct_subsets() -> None:
    first, same, other = (draw_subsets(14, 3, 28, np.random.SeedSequence(s)) for s in (0, 0, 1))
    assert first == same != other
    assert len(set(first)) == 28
    assert first[:9] == draw_subsets(14, 3, 9, np.random.SeedSequence(0))


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 60), st.integers(0, 99))
def test_subsets_are_as_many_as_there_are_at_most(q, size, wanted, seed) -> None:
    found = draw_subsets(q, size, wanted, np.random.SeedSequence(seed))
    there_are = math.comb(q, size) if size < q else 1
    assert len(found) == len(set(found)) == min(wanted, there_are)
    assert all(s == tuple(sorted(s)) and s[0] >= 0 and s[-1] < q for s in found)


def test_every_subset_is_as_likely() -> None:
    counts = dict.fromkeys(itertools.combinations(range(6), 3), 0)
    for seed in range(600):
        for subset in draw_subsets(6, 3, 3, np.random.SeedSequence(seed)):
            counts[subset] += 1
    # 1800 draws over 20 subsets: 90 each, standard deviation below 9.
    assert max(abs(count - 90) for count in counts.values()) < 45


def test_labels_that_no_subset_has_are_never_predicted(four_labels) -> None:
    X, Y, queries, _ = four_labels
    classifier = RAkEL("tree", labelset_size=2, n_models=1)
    fitted = classifier.fit(X, np.ones_like(Y))
    ((a, b),) = fitted.labelsets_
    expected = np.zeros((40, 4), dtype=np.uint8)
    expected[:, [a, b]] = 1
    np.testing.assert_array_equal(fitted.predict(queries), expected)
    (outcome,) = classifier.outcomes(as_source(X, Y), as_source(queries), np.arange(5), [5])
    assert "labels that no subset has, which are never predicted: 2" in outcome.notes
