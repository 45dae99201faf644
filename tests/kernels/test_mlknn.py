"""ML-kNN's tables and posteriors."""

import numpy as np

from mlfs_dask.kernels.mlknn import count_dtype, count_labels, posteriors, tabulate


def test_counts_and_tables_by_hand() -> None:
    labels = np.array([[1, 0], [1, 1], [0, 1]], dtype=np.uint8)
    neighbors = np.array([[[1, 2]], [[0, 2]], [[0, 1]]])
    counts = np.zeros((3, 1, 2), dtype=np.uint8)
    count_labels(neighbors, labels, counts)
    assert counts[:, 0].tolist() == [[1, 2], [1, 1], [2, 1]]
    tables = np.zeros((1, 2, 3, 2), dtype=np.int64)
    tabulate(counts, labels, tables)
    assert tables[0, 1].tolist() == [[0, 0], [2, 2], [0, 0]]
    assert tables[0, 0].tolist() == [[0, 0], [0, 0], [1, 1]]


def test_posterior_by_hand() -> None:
    """3 of 5 rows have the label; c = (0, 1, 2), c' = (2, 0, 0), k = 2, s = 1."""
    table = np.array([[[2], [0], [0]], [[0], [1], [2]]])
    prior = 4 / 7
    expected = [
        prior * (1 / 6) / (prior * (1 / 6) + (1 - prior) * (3 / 5)),
        prior * (2 / 6) / (prior * (2 / 6) + (1 - prior) * (1 / 5)),
        prior * (3 / 6) / (prior * (3 / 6) + (1 - prior) * (1 / 5)),
    ]
    np.testing.assert_allclose(posteriors(table, 1.0).ravel(), expected, rtol=1e-15)


def test_equal_evidence_is_exactly_one_half() -> None:
    table = np.full((2, 4, 1), 3)
    assert posteriors(table, 0.7).ravel().tolist() == [0.5] * 4


def test_without_smoothing_what_was_never_seen_gets_the_prior() -> None:
    table = np.array([[[2, 4], [0, 0]], [[0, 0], [2, 0]]])
    table[1, 1, 0] = 0
    table[1, 0, 0] = 2
    assert posteriors(table, 0.0).tolist() == [[0.5, 0.0], [0.5, 0.0]]


def test_labels_that_all_or_none_carry() -> None:
    table = np.array([[[0, 3]], [[3, 0]]])
    assert posteriors(table, 0.0).tolist() == [[1.0, 0.0]]
    proba = posteriors(table, 1.0)
    np.testing.assert_allclose(proba, [[0.8, 0.2]])


def test_counts_need_wider_types_for_more_neighbors() -> None:
    assert [count_dtype(k) for k in (255, 256, 65536)] == [np.uint8, np.uint16, np.uint32]
