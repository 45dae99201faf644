"""Blocks of features appended to a store: values, digests, atomicity, damage, refusals."""

import hashlib
import itertools
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.errors import InputError, StoreCorruptError, StoreError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.storage.append import append, close
from mlfs_dask.storage.describe import describe
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.storage.store import open_store
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.tables import ArrayTable


def rows(n=40, d=7, seed=0, density=0.6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, d)) * (rng.random((n, d)) < density)
    return X.astype(float), (rng.random((n, 3)) < 0.4).astype(np.uint8)


def named(X, Y, first, **more):
    return ArrayTable(X, Y, feature_names=[f"f{first + i}" for i in range(X.shape[1])], **more)


@pytest.fixture
def store(tmp_path):
    X, Y = rows()
    ingest(named(X[:, :3], Y, 0), tmp_path / "s.zarr", tile=16)
    return tmp_path / "s.zarr"


def digest_by_hand(X, names):
    """As storage/README.md says it, of a dense block without costs."""
    header = {"categories": {}, "costs": None, "features": names, "kinds": [0] * len(names)}
    text = json.dumps({**header, "labels": []}, separators=(",", ":"), sort_keys=True)
    counts = [np.count_nonzero(row) for row in X]
    streams = [b"", b"", np.array(counts, "<i8").tobytes()]
    streams.append(np.concatenate([np.flatnonzero(row) for row in X]).astype("<u4").tobytes())
    streams.append(X[X != 0].astype("<f8").tobytes())
    whole = b"mlfs-digest-1" + hashlib.sha256(text.encode()).digest()
    return hashlib.sha256(whole + b"".join(hashlib.sha256(s).digest() for s in streams)).digest()


@given(
    sparse=st.tuples(st.booleans(), st.booleans()),
    cuts=st.sets(st.integers(1, 6), min_size=1),
    seed=st.integers(0, 99),
    data=st.data(),
)
@settings(max_examples=15)
def test_a_store_with_blocks_reads_as_one_made_at_once(sparse, cuts, seed, data, tmp_path_factory):
    X, Y = rows(seed=seed)
    X[:, data.draw(st.integers(0, 6))] *= data.draw(st.sampled_from([1.0, 0.3, 1e5, np.nan]))
    split = np.random.default_rng(seed).integers(0, 3, 40)
    home = tmp_path_factory.mktemp("blocks")
    bounds = [0, *sorted(cuts), 7]
    shape = [sp.csr_matrix if each else np.asarray for each in sparse]
    costs = data.draw(st.sampled_from([None, np.arange(7.0)]))

    def table(a, b, form):
        cost = None if costs is None else costs[a:b]
        return named(form(X[:, a:b]), Y, a, split=split, feature_cost=cost)

    whole = ingest(table(0, 7, shape[0]), home / "whole.zarr", tile=16, name="x")
    path = home / "parts.zarr"
    ingest(table(0, bounds[1], shape[0]), path, tile=16, name="x")
    chain = [open_store(path).digest]
    for a, b in itertools.pairwise(bounds[1:]):
        chain.append(append(path, table(a, b, shape[1])).digest)
    parts = open_store(path)
    assert parts.chain == tuple(chain)
    assert len(set(chain)) == len(bounds) - 1
    assert parts.block_sizes == tuple(np.diff(bounds[1:]).tolist())
    assert parts.is_sparse == whole.is_sparse
    for a, b in ((0, 40), (3, 19), (39, 40), (5, 5)):
        found, expected = parts.X[a:b], whole.X[a:b]
        if parts.is_sparse:
            assert found.has_canonical_format
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)
    assert parts.x_dtype == whole.x_dtype
    for name in ("Y", "split", "feature_kind", "feature_names", "label_names", "feature_cost"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    again = pickle.loads(pickle.dumps(parts))
    assert (again.digest, again.n_features) == (parts.digest, 7)
    copy = ingest(parts, home / "copy.zarr", name="x")
    assert copy.digest == whole.digest
    for k, digest in enumerate(chain):
        assert open_store(path, digest).n_features == bounds[k + 1]
    assert verify(path).ok
    shutil.rmtree(home)


def test_a_digest_of_a_chain_by_hand(store):
    X, Y = rows()
    first = open_store(store).digest
    found = append(store, named(X[:, 3:5], Y, 3)).digest
    block = digest_by_hand(X[:, 3:5], ["f3", "f4"])
    assert found == hashlib.sha256(bytes.fromhex(first) + block).hexdigest()
    labels_left_out = append(store, named(X[:, 5:], np.zeros((40, 0)), 5))
    block = digest_by_hand(X[:, 5:], ["f5", "f6"])
    assert labels_left_out.digest == hashlib.sha256(bytes.fromhex(found) + block).hexdigest()


def test_nothing_that_was_there_changes(store):
    X, Y = rows()
    old = open_store(store)
    source = as_source(old)
    files = {p: p.read_bytes() for p in store.rglob("*") if p.is_file()}
    append(store, named(X[:, 3:], Y, 3))
    assert all(path.read_bytes() == content for path, content in files.items())
    assert old.X[0:4].shape == (4, 3)
    np.testing.assert_array_equal(source.block(0), X[:16, :3])
    assert pickle.loads(pickle.dumps(old)).n_features == 3
    close(store)
    assert close(store).is_closed
    assert describe(open_store(store)).closed
    assert describe(open_store(store)).blocks == [4]
    with pytest.raises(StoreError, match="is closed: no block can be appended"):
        append(store, named(X[:, 3:], Y, 9))


def test_blocks_that_do_not_fit(store):
    X, Y = rows()
    other = Y.copy()
    other[7, 1] ^= 1
    for table, words in (
        (named(X[:39, 3:], Y[:39], 3), "the block has 39 rows, .* has 40"),
        (named(np.vstack([X, X])[:, 3:], np.vstack([Y, Y]), 3), "the block has .* rows"),
        (named(X[:, 2:], Y, 2), "has a feature 'f2' already"),
        (named(X[:, 3:], other, 3), "row 8 of the block has . for the label 'l1', the store has"),
        (named(X[:, 3:], Y[:, :2], 3), "the block has 2 labels, .* has 3"),
        (named(X[:, 3:], Y, 3, feature_cost=np.ones(4)), "the block has some costs"),
        (named(X[:, 3:] + np.inf, Y, 3), "is infinite in row"),
    ):
        with pytest.raises(InputError, match=words):
            append(store, table)
        assert open_store(store).block_sizes == ()
        assert [p.name for p in store.glob("blocks/*")] == []
    renamed = append(store, named(X[:, 2:], Y, 2), prefix="late ")
    assert renamed.feature_names[3:5] == ("late f2", "late f3")


def test_one_writer_at_a_time(store):
    import fcntl

    X, Y = rows()
    (store / "blocks").mkdir()
    handle = os.open(f"{store}/blocks", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match="another process is appending"):
        append(store, named(X[:, 3:], Y, 3))
    with pytest.raises(StoreError, match="another process is appending"):
        close(store)
    os.close(handle)
    assert append(store, named(X[:, 3:], Y, 3)).block_sizes == (4,)


KILLED = """
import os, signal, sys
import numpy as np
from mlfs_dask.storage import atomic, append, seal
from mlfs_dask.testing.tables import ArrayTable
from pathlib import Path
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(*{"written": (append, "write_block_arrays", die), "sealed": (atomic, "publish_folder", die)}
        [sys.argv[2]])
table = ArrayTable(np.ones((40, 2)), np.zeros((40, 0)), feature_names=["a", "b"])
append.append(Path(sys.argv[1]), table)
"""


@pytest.mark.parametrize("when", ["written", "sealed"])
def test_a_killed_append_leaves_no_block(store, when):
    ended = subprocess.run([sys.executable, "-c", KILLED, store, when], timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert open_store(store).block_sizes == ()
    table = ArrayTable(np.ones((40, 2)), np.zeros((40, 0)), feature_names=["a", "b"])
    assert append(store, table).block_sizes == (2,)
    report = verify(store)
    assert report.ok
    assert report.notes == ()  # what the dead one left is gone


def test_damage_is_found(store, tmp_path):
    X, Y = rows()
    append(store, named(X[:, 3:5], Y, 3))
    append(store, named(X[:, 5:], Y, 5))
    close(store)
    assert verify(store).ok

    def broken(name):
        target = tmp_path / f"{name}.zarr"
        shutil.copytree(store, target)
        return target

    lost = broken("lost")
    shutil.rmtree(lost / "blocks" / "0001")
    with pytest.raises(StoreCorruptError, match="0001 is lost: there are later blocks"):
        open_store(lost)
    assert [item.file for item in verify(lost).damage] == ["blocks/0001"]
    swapped = broken("swapped")
    (swapped / "blocks" / "0001").rename(swapped / "x")
    (swapped / "blocks" / "0002").rename(swapped / "blocks" / "0001")
    (swapped / "x").rename(swapped / "blocks" / "0002")
    with pytest.raises(StoreCorruptError, match="does not belong here"):
        open_store(swapped)
    flipped = broken("flipped")
    chunk = flipped / "blocks" / "0002" / "X" / "c" / "0" / "0"
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 1
    chunk.write_bytes(data)
    [damage] = verify(flipped).damage
    assert damage.file.startswith("blocks/0002/X/c/")
    gone = broken("gone")
    (gone / "blocks" / "0001" / "complete").unlink()
    with pytest.raises(StoreError, match="not a finished store"):
        open_store(gone)
    assert [item.file for item in verify(gone).damage] == ["blocks/0001/complete"]
    reopened = broken("reopened")
    (reopened / "closed").write_text("0" * 64 + "\n")
    assert [item.file for item in verify(reopened).damage] == ["closed"]
    with pytest.raises(StoreError, match="holds other data than at the start"):
        open_store(store, "0" * 64)


ARFF = "@relation x\n@attribute a numeric\n@attribute l1 {0,1}\n@attribute b {no,yes}\n@data\n"


def test_text_files_with_all_labels_of_the_store_or_none(store, tmp_path):
    _, Y = rows()
    known = ReadOptions(known_labels=open_store(store).label_names)
    plain = tmp_path / "plain.csv"
    plain.write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(40)))
    full = tmp_path / "full.csv"
    lines = (f"{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(Y))
    full.write_text("late,l0,l1,l2\n" + "".join(lines))
    part = tmp_path / "part.arff"
    part.write_text(ARFF + "".join(f"{i},{Y[i, 1]},yes\n" for i in range(40)))
    none = tmp_path / "none.arff"
    none.write_text(
        ARFF.replace("@attribute l1 {0,1}\n", "").replace("attribute a", "attribute c")
        + "".join(f"{i},{'yes' if i % 2 else '?'}\n" for i in range(40))
    )
    assert append(store, open_table(plain, options=known)).feature_names[3:] == ("a", "b")
    assert append(store, open_table(full, options=known)).block_sizes == (2, 1)
    with pytest.raises(InputError, match="the block has 1 label,"):
        append(store, open_table(part, options=known))
    with pytest.raises(InputError, match="feature 'b' already"):
        append(store, open_table(none, options=known))
    dataset = append(store, open_table(none, options=known), prefix="again ")
    assert dataset.feature_names[6:] == ("again c", "again b")
    assert dataset.categories == {7: ("no", "yes")}
    assert np.isnan(dataset.X[0:1][0, 7])
    assert [file["name"] for file in dataset.attributes["source"]][-1] == "none.arff"
