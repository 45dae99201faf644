import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.kernels.similarity import (
    label_bits,
    similarity_degrees,
    similarity_rule,
    similarity_tile,
)
from reference.spec import similarity_matrix

# One word, exactly one word, and more than one.
WIDTHS = st.sampled_from([1, 3, 8, 63, 64, 65, 130])


@st.composite
def label_matrices(draw):
    n, q = draw(st.integers(1, 20)), draw(WIDTHS)
    few = draw(hnp.arrays(np.uint8, (draw(st.integers(1, 6)), q), elements=st.integers(0, 1)))
    return few[draw(hnp.arrays(np.int64, n, elements=st.integers(0, len(few) - 1)))]


@given(Y=label_matrices())
def test_sets_are_the_distinct_rows(Y):
    sets = find_label_sets(Y)
    distinct = sorted({tuple(row) for row in Y.tolist()})
    assert sets.n_sets == len(distinct)
    assert [tuple(Y[i].tolist()) for i in sets.first] == distinct
    assert [distinct[c] for c in sets.codes] == [tuple(row) for row in Y.tolist()]
    assert sets.counts.tolist() == [Y.tolist().count(list(row)) for row in distinct]
    assert sets.sizes.tolist() == [sum(row) for row in distinct]
    assert sets.first.tolist() == [Y.tolist().index(list(row)) for row in distinct]
    empty = [k for k, row in enumerate(distinct) if not any(row)]
    assert sets.empty == (empty[0] if empty else -1)
    bits = sum(np.bitwise_count(word).astype(int) for word in sets.words)
    assert bits.tolist() == sets.sizes.tolist()


@pytest.mark.parametrize("kind", ["jaccard", "rbf-labels", "class", "matching"])
@given(Y=label_matrices(), empty_pair=st.sampled_from([0, 1]))
def test_tiles_hold_the_similarities_of_the_twin(kind, Y, empty_pair):
    sets = find_label_sets(Y)
    rule = similarity_rule(kind, Y.shape[1], bandwidth=1.7, empty_pair=empty_pair)
    W = np.full((sets.n_sets + 1, sets.n_sets + 2), -1.0)
    similarity_tile(label_bits(sets), label_bits(sets), rule, W)
    expected = similarity_matrix(None, Y, kind, bandwidth=1.7, empty_pair=empty_pair)
    J = expected[np.ix_(sets.first, sets.first)].copy()
    if kind == "jaccard" and sets.empty >= 0:
        J[sets.empty, sets.empty] = empty_pair  # of two different rows
    np.testing.assert_allclose(W[:-1, :-2], J, rtol=1e-14)
    assert (W[-1] == -1).all()
    assert (W[:, -2:] == -1).all()
    assert W[:-1, :-2].tobytes() == np.ascontiguousarray(W[:-1, :-2].T).tobytes()
    degrees = similarity_degrees(label_bits(sets), label_bits(sets), sets.counts, rule)
    np.testing.assert_allclose(degrees, J @ sets.counts, rtol=1e-13)


def test_parts_of_label_sets():
    Y = np.eye(70, dtype=np.uint8)
    bits = label_bits(find_label_sets(Y))
    part = bits.part(np.array([3, 69]))
    assert part.words.shape == (2, 2)
    assert part.words.flags.c_contiguous
    np.testing.assert_array_equal(part.words, bits.words[:, [3, 69]])
