"""Label weights: the worked example, plain loops, labels that share nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.kernels.label_weights import label_information, label_weights
from reference.stream import information, weights

Y = np.array(
    [(1, 0, 1, 1), (1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0)], np.uint8
)


def test_information_of_the_example():
    found = label_information(Y)
    expected = np.full((4, 4), 0.081704)
    expected[1, 3] = expected[3, 1] = 1.0
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found, expected, atol=5e-7)


@pytest.mark.parametrize(
    ("rounds", "constant", "expected"),
    [
        (0, 0.15, (0.116253, 0.383747)),
        (0, 0.15 / 4, (0.116253, 0.383747)),
        (1, 0.15, (0.172883, 0.327117)),
        (1, 0.15 / 4, (0.138180, 0.361820)),
    ],
)
def test_weights_of_the_example(rounds, constant, expected):
    found = label_weights(label_information(Y), 0.85, rounds, constant)
    np.testing.assert_allclose(found, [*expected, *expected], atol=5e-7)


@given(
    Y=hnp.arrays(
        np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.sampled_from([0, 1])
    ),
    damping=st.sampled_from([0.0, 0.5, 0.85, 0.99]),
    rounds=st.sampled_from([None, 1, 3]),
    shared=st.booleans(),
)
def test_weights_equal_the_plain_twin(Y, damping, rounds, shared):
    found = label_information(Y)
    np.testing.assert_allclose(found, information(Y.tolist()), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    constant = (1 - damping) / (Y.shape[1] if shared else 1)
    walked = label_weights(found, damping, rounds or 0, constant)
    np.testing.assert_allclose(walked, weights(Y.tolist(), damping, rounds, shared), rtol=1e-9)
    assert walked.sum() == pytest.approx(1.0)


def test_labels_that_share_nothing_weigh_the_same():
    independent = np.array([(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)], np.uint8)
    found = label_weights(label_information(independent), 0.85, 0, 0.15)
    np.testing.assert_allclose(found, np.full(3, 1 / 3), rtol=1e-15)


def test_a_single_label_weighs_1():
    assert label_weights(label_information(Y[:, :1]), 0.85, 0, 0.15).tolist() == [1.0]
