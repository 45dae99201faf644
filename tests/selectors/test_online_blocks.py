"""Blocks of features given to `partial_fit`: together they give what one fit gives."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mlfs_dask.errors import InputError
from mlfs_dask.selectors.nrs_stream import NRSStream
from mlfs_dask.selectors.ofs_a3m import OFSA3M
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.tables import kinds, streams


@given(case=streams(), data=st.data())
def test_blocks_of_features_give_what_one_fit_gives(case, data):
    X, Y, nominal = case
    d = X.shape[1]
    kind = kinds(X, nominal)
    cuts = sorted(data.draw(st.sets(st.integers(1, d - 1))) if d > 1 else [])
    bounds = [0, *cuts, d]
    form = data.draw(st.sampled_from([np.asarray, sp.csr_matrix]))
    whole = NRSStream().fit(X, Y, feature_kind=kind, feature_cost=np.arange(d))
    parts = NRSStream()
    for k, (a, b) in enumerate(itertools.pairwise(bounds)):
        block = form(X[:, a:b])
        labels = Y if k == 0 or data.draw(st.booleans()) else None
        begin = k == 0 and data.draw(st.booleans())
        take = parts.fit if begin else parts.partial_fit
        take(block, labels, feature_kind=kind[a:b], feature_cost=np.arange(a, b))
        if data.draw(st.booleans()):
            parts = pickle.loads(pickle.dumps(parts))
    assert parts.selection_record() == whole.selection_record()
    assert parts.n_features_in_ == d
    if whole.support_.any():
        np.testing.assert_array_equal(parts.transform(X), whole.transform(X))
    np.testing.assert_array_equal(parts.ranking_, whole.ranking_)
    fresh = parts.fit(X[:, :1], Y, feature_kind=kind[:1])
    assert len(fresh.path_) == 1


def test_blocks_for_ofs_a3m():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 3, (40, 9)).astype(float)
    Y = (rng.random((40, 2)) < 0.4).astype(np.uint8)
    whole = OFSA3M(random_state=3).fit(X, Y)
    parts = OFSA3M(random_state=3)
    for cut in (slice(0, 2), slice(2, 3), slice(3, 9)):
        parts.partial_fit(X[:, cut], Y)
    assert parts.selection_record() == whole.selection_record()


def rows(seed=3, n=70, d=9, q=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)) * (rng.random((n, d)) < 0.7) / 2
    X[:, 4] = 2.0
    X[:, 5] = rng.random(n) < 0.5
    Y = (rng.random((n, q)) < 0.3).astype(np.uint8)
    Y[:, 0] |= X[:, 1] > 1.5
    return X, Y


def test_names_of_blocks_reach_reasons_and_output(tmp_path):
    X, Y = rows()
    X[:, 0] = X[:, 4] = Y[:, 0]  # a copy is as relevant, and redundant
    selector = NRSStream()
    for cut in (slice(0, 1), slice(4, 5), slice(1, 4), slice(5, 9)):
        names = tuple(f"col {f}" for f in range(9)[cut])
        table = ArrayTable(X[:, cut], Y, feature_names=names)
        selector.partial_fit(ingest(table, tmp_path / f"{cut.start}.zarr", tile=32))
    assert selector.path_[1]["reason"] == "discarded: redundant to col 0"
    names = [f"col {f}" for f in (0, 4, 1, 2, 3, 5, 6, 7, 8)]
    kept = np.flatnonzero(selector.support_)
    assert selector.get_feature_names_out().tolist() == [names[f] for f in kept]
    unnamed = NRSStream().partial_fit(X[:, :1], Y).partial_fit(X[:, 4:5])
    assert unnamed.path_[1]["reason"] == "discarded: redundant to feature 0"


def test_a_name_that_came_before_is_refused(tmp_path):
    X, Y = rows()
    store = ingest(ArrayTable(X, Y), tmp_path / "twice.zarr", tile=32)
    parts = NRSStream().fit(store)
    with pytest.raises(InputError, match=f"a feature named {store.feature_names[0]!r} came before"):
        parts.partial_fit(store)
    assert parts.n_features_in_ == X.shape[1]


def test_numbers_of_features_to_keep_grow_with_the_blocks():
    X, Y = rows()
    parts = NRSStream(n_features_to_select=8).partial_fit(X[:, :3], Y)
    assert parts.support_.sum() == 3
    assert parts.partial_fit(X[:, 3:]).support_.sum() == 8


@pytest.mark.parametrize("selector", [NRSStream(), OFSA3M(random_state=0)])
def test_a_stream_ends_with_so_many_members(selector):
    X, Y = rows()
    whole = clone(selector).fit(X, Y)
    kept = [step["kept"] and "features" not in step for step in whole.path_]
    end = int(np.flatnonzero(np.cumsum(kept) == 2)[0]) + 1
    ended = clone(selector).set_params(max_features=2, group_size=3).fit(X, Y)
    assert ended.path_ == whole.path_[:end]
    assert ended.stop_ == "2 features are selected"
    parts = clone(selector).set_params(max_features=2)
    for cut in (slice(0, 2), slice(2, 8), slice(8, 9)):
        parts.partial_fit(X[:, cut], Y)
    assert parts.path_ == ended.path_


def test_missing_values_of_blocks_are_replaced():
    X, Y = rows()
    X[3, 2] = np.nan
    expected = NRSStream(impute="mean").fit(X, Y).selection_record()
    parts = NRSStream(impute="mean").partial_fit(X[:, :4], Y).partial_fit(X[:, 4:])
    assert parts.selection_record() == expected


def test_blocks_that_do_not_fit():
    X, Y = rows()
    parts = NRSStream().partial_fit(X[:, :2], Y)
    before = parts.selection_record()
    for block, labels, words in (
        (X[:-1, 2:], None, "X has 69 rows, the blocks before have 70"),
        (X[:-1, 2:], Y[:-1], "Y differs from the labels of the first block"),
        (X[:, 2:], 1 - Y, "Y differs"),
        (X[:, 2:], Y[:-1], "X has 70 rows, Y has 69"),
    ):
        with pytest.raises(InputError) as error:
            parts.partial_fit(block, labels)
        assert words in str(error.value)
    with pytest.raises(InputError, match=r"of its features .feature_cost., those before"):
        parts.partial_fit(X[:, 2:], feature_cost=np.ones(7))
    assert parts.selection_record() == before
    with pytest.raises(InputError, match="requires y"):
        NRSStream().partial_fit(X)
    with pytest.raises(InputError, match="partial_fit takes features in the order"):
        NRSStream(arrival="random").partial_fit(X, Y)


STAY = [(NRSStream(), name) for name in NRSStream.measured_by]
STAY += [(OFSA3M(random_state=0), name) for name in OFSA3M.measured_by]
OTHER = {
    "damping": 0.5,
    "gap_factor": 3.0,
    "strict": True,
    "dependency": "consistency",
    "normalize": "none",
    "n_iter": 2,
    "restart": "shared",
}


@pytest.mark.parametrize(("selector", "name"), STAY, ids=lambda value: str(value))
def test_what_features_are_measured_by_stays(selector, name):
    X, Y = rows()
    parts = clone(selector).partial_fit(X[:, :5], Y)
    before, given = parts.selection_record(), getattr(parts, name)
    parts.set_params(**{name: OTHER[name]})
    for each in (parts, pickle.loads(pickle.dumps(parts))):
        with pytest.raises(InputError, match=rf"^{name} = .* were measured with {name} = "):
            each.partial_fit(X[:, 5:])
        assert each.selection_record() == before
    parts.set_params(**{name: given}).partial_fit(X[:, 5:])
    assert parts.selection_record() == clone(selector).fit(X, Y).selection_record()


@pytest.mark.parametrize("selector", [NRSStream(), OFSA3M(random_state=0)])
def test_other_parameters_hold_from_the_next_arrival_on(selector):
    X, Y = rows()
    X[0, 7] = np.nan
    begun = clone(selector).set_params(max_features=1).partial_fit(X[:, :5], Y)
    first = begun.path_
    assert begun.stop_ == "1 feature is selected"
    begun.set_params(max_features=None, group_size=3, impute="mean", n_features_to_select=2, tile=7)
    begun.partial_fit(X[:, 5:])
    # Those that came after the end were let pass; the others are measured with the one member.
    passed = list(range(len(first), 5))
    arrival = [f for f in range(9) if f not in passed]
    expected = clone(selector).set_params(impute="mean", arrival=arrival).fit(X, Y)
    assert begun.path_ == expected.path_
    assert begun.support_.sum() == 2
    assert {step["feature"] for step in begun.path_}.isdisjoint(passed)


def test_another_threshold_holds_from_the_next_arrival_on():
    X, Y = rows()
    copies = X[:, [1, 1, 1]]  # they leave the dependency as it is
    parts = NRSStream(relevance=0.001).partial_fit(copies[:, :2], Y)
    parts.set_params(relevance=1.0).partial_fit(copies[:, 2:])
    assert [step.get("threshold") for step in parts.path_] == [None, 0.001, 1.0]
    assert parts.path_[2]["reason"].endswith("below 1")
    assert parts.relevance_ == 1.0


@pytest.mark.parametrize("selector", [NRSStream(normalize="none"), OFSA3M(random_state=0)])
def test_a_block_that_failed_leaves_the_stream_as_it_was(selector):
    X, Y = rows()
    parts = clone(selector).partial_fit(X[:, :3], Y)
    before, stop = parts.selection_record(), parts.stop_
    bad = X[:, 3:].copy()
    bad[0, 4] = 1e300  # its turn comes after others of the block were decided on
    with pytest.raises(InputError, match="squared distances leave the range"):
        parts.partial_fit(bad)
    assert (parts.selection_record(), parts.stop_) == (before, stop)
    parts.partial_fit(X[:, 3:])
    assert parts.selection_record() == clone(selector).fit(X, Y).selection_record()
    fresh = clone(selector)
    with pytest.raises(InputError, match="squared distances leave the range"):
        fresh.partial_fit(bad, Y)
    fresh.partial_fit(X, Y)
    assert fresh.selection_record() == parts.selection_record()
