"""Damaged CSV, libsvm, ``.mat`` and ``.npz`` files: an error of ours or a table, and soon."""

import io
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat
from scipy.sparse import csc_matrix

from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.damage import damaged, no_hang, only_our_errors
from mlfs_dask.testing.strategies import NASTY_NAMES

_NUMBER = itertools.count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def read_all(folder, suffix, content, **options):
    path = folder / f"{next(_NUMBER)}{suffix}"
    path.write_bytes(content)
    with no_hang(), only_our_errors():
        table = open_table(path, options=ReadOptions(**options))
        for batch in table.batches():
            X = batch.X.data if table.header.is_sparse else batch.X
            assert batch.X.shape == (batch.n_rows, table.header.n_features)
            assert not np.isinf(X).any()
            assert batch.Y.shape == (batch.n_rows, table.header.n_labels)
            assert batch.Y.max(initial=0) <= 1
            assert batch.split.max(initial=0) <= 2
    path.unlink()


def _csv():
    quoted = [f'"{name}"'.replace('"say "so""', '"say ""so"""') for name in NASTY_NAMES[:8]]
    rows = [",".join(quoted), "1,-2.5e-3,x,?,'it''s',3,0,1", '4,,"a,b",7,y z,NA,1,0'] * 1
    return "\n".join([*rows, *(f"{i},{i / 7},x,2,q,1,{i % 2},1" for i in range(6))]).encode()


def _libsvm():
    rows = ["0,2 1:0.5 3:-1e-3 7:2", " 2:4", "1, 3 5:1 # comment", "", "2", "3 1:1"]
    return "\n".join(rows).encode()


def _mat(compressed):
    X = np.arange(12.0).reshape(4, 3)
    Y = np.array([[1, -1, 1, 1], [-1, -1, 1, -1]])
    content = io.BytesIO()
    arrays = {"train_data": X, "train_target": Y, "test_data": csc_matrix(X), "test_target": Y}
    savemat(content, arrays, do_compression=compressed)
    return content.getvalue()


def _npz(sparse):
    rows = csc_matrix(np.eye(4, 3)).tocsr()
    dense = {"X": np.arange(12.0).reshape(4, 3)}
    parts = {"X_data": rows.data, "X_indices": rows.indices, "X_indptr": rows.indptr}
    content = io.BytesIO()
    np.savez(
        content,
        **(parts | {"X_shape": np.array(rows.shape)} if sparse else dense),
        Y=np.eye(4, 2, dtype=np.uint8),
        split=np.array([1, 1, 2, 2], dtype=np.uint8),
        feature_names=np.array(["a", "b", "c"]),
        category_of=np.array([1]),
        category_count=np.array([2]),
        category_values=np.array(["no", "yes"]),
        feature_cost=np.ones(3),
    )
    return content.getvalue()


FILES = {
    "csv": (".csv", _csv(), {"labels": 2}),
    "libsvm": (".svm", _libsvm(), {}),
    "mat": (".mat", _mat(compressed=False), {}),
    "mat, packed": (".mat", _mat(compressed=True), {}),
    "npz": (".npz", _npz(sparse=False), {}),
    "npz, sparse": (".npz", _npz(sparse=True), {}),
}


@pytest.mark.parametrize(("suffix", "content", "options"), FILES.values(), ids=FILES)
def test_the_files_are_sound(tmp_path, suffix, content, options):
    path = tmp_path / f"sound{suffix}"
    path.write_bytes(content)
    rows = sum(b.n_rows for b in open_table(path, options=ReadOptions(**options)).batches())
    assert rows >= 4


@pytest.mark.filterwarnings("ignore")  # SciPy warns of what it skips in a damaged file
@pytest.mark.parametrize(("suffix", "content", "options"), FILES.values(), ids=FILES)
@given(data=st.data())
def test_damaged_files(shared, suffix, content, options, data):
    read_all(shared, suffix, data.draw(damaged(content)), **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".csv", ".svm", ".mat", ".npz"])
@given(content=st.binary(min_size=1, max_size=300))
def test_any_bytes(shared, suffix, content):
    read_all(shared, suffix, content, labels=1)


N = 100_000
HOSTILE = {
    "csv quotes": (".csv", b"a,l\n" + b'"' * N),
    "csv one cell": (".csv", b"a,l\n" + b"9" * N),
    "csv separators": (".csv", b"," * N),
    "csv wide": (".csv", b",".join(b"c%d" % i for i in range(N)) + b"\n" + b"0," * (N - 1) + b"0"),
    "csv blank lines": (".csv", b"a,l\n" + b"\n" * N + b"1,0"),
    "svm labels": (".svm", b"1," * N + b" 1:1"),
    "svm blanks": (".svm", b"1" + b" " * N + b"1:1"),
    "svm label blanks": (".svm", b"1" + b" ,1" * N + b" x"),
    "svm colons": (".svm", b"1 " + b":" * N),
    "svm digits": (".svm", b"1 " + b"9" * N + b":1"),
    "svm entries": (".svm", b"1 " + b" ".join(b"%d:1" % i for i in range(1, N))),
    "svm far": (".svm", b"1 4999999:1\n"),
    "svm far label": (".svm", b"999999 1:1\n" * 20),
}


@pytest.mark.parametrize(("suffix", "content"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_takes_linear_time(tmp_path, suffix, content):
    read_all(tmp_path, suffix, content, labels=1)
