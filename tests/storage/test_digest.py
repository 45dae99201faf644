"""The digest: equal to its plain twin; equal for equal values, whatever the encoding."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mlfs_dask.storage.digest import StoreDigest
from mlfs_dask.testing.strategies import tables
from mlfs_dask.testing.tables import ArrayTable
from reference.digest import store_digest


def digest_of(table, max_bytes=2**20):
    digest = StoreDigest(table.header)
    for batch in table.batches(max_bytes):
        digest.update(batch.X, batch.Y, batch.split)
    return digest.hexdigest()


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@given(tables())
def test_equals_the_plain_twin(table):
    batches = list(table.batches())
    X = [row for batch in batches for row in dense(batch.X).tolist()]
    Y = [row for batch in batches for row in batch.Y.tolist()]
    split = [part for batch in batches for part in batch.split.tolist()]
    assert digest_of(table) == store_digest(table.header, X, Y, split)


@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from(["uint8", "float32", "float64"]))
def test_ignores_batches_encoding_and_dtype(first, second, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (20, 5)).astype(float)
    Y = rng.integers(0, 2, (20, 3))
    expected = digest_of(ArrayTable(X, Y, batch_rows=first))
    assert digest_of(ArrayTable(csr_matrix(X), Y, batch_rows=second)) == expected
    typed = StoreDigest(ArrayTable(X, Y).header)
    typed.update(X.astype(dtype), Y.astype(np.uint8), np.zeros(20, np.uint8))
    assert typed.hexdigest() == expected


def test_every_part_counts():
    rng = np.random.default_rng(0)
    X = rng.random((6, 3)).round(1)
    Y = rng.integers(0, 2, (6, 2)).astype(np.uint8)
    moved = X.copy()
    moved[0, 0] += 1e-9
    flipped = Y.copy()
    flipped[3, 1] ^= 1
    tables = {
        "same": ArrayTable(X, Y),
        "a value": ArrayTable(moved, Y),
        "row order": ArrayTable(X[::-1], Y[::-1]),
        "a label": ArrayTable(X, flipped),
        "split": ArrayTable(X, Y, [1, 1, 1, 2, 2, 2]),
        "feature names": ArrayTable(X, Y, feature_names=["a", "b", "c"]),
        "label names": ArrayTable(X, Y, label_names=["a", "b"]),
        "costs": ArrayTable(X, Y, feature_cost=[0, 0, 0]),
        "kinds": ArrayTable(np.ones((6, 3)), Y, categories={0: ("a", "b")}),
        "categories": ArrayTable(np.ones((6, 3)), Y, categories={0: ("a", "c")}),
    }
    assert len({digest_of(table) for table in tables.values()}) == len(tables)


def test_a_zero_is_not_missing_and_minus_zero_is_zero():
    Y = [[1]]
    assert digest_of(ArrayTable([[-0.0]], Y)) == digest_of(ArrayTable([[0.0]], Y))
    assert digest_of(ArrayTable([[np.nan]], Y)) != digest_of(ArrayTable([[0.0]], Y))


def test_all_missing_values_are_alike():
    payload = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64).reshape(1, 1)
    assert digest_of(ArrayTable(payload, [[1]])) == digest_of(ArrayTable([[np.nan]], [[1]]))
    assert digest_of(ArrayTable(-payload, [[1]])) == digest_of(ArrayTable([[np.nan]], [[1]]))


def test_stored_zeros_of_a_sparse_block_do_not_count():
    with_zero = csr_matrix((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert with_zero.nnz == 2
    header = ArrayTable([[0.0, 2.0]], [[1]]).header
    digests = []
    for X in (with_zero, np.array([[0.0, 2.0]])):
        digest = StoreDigest(header)
        digest.update(X, np.ones((1, 1), np.uint8), np.zeros(1, np.uint8))
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]
