"""Spectral scores against NumPy by hand and against skfeature."""

import numpy as np
import pytest
import scipy.sparse as sp

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most, faster


def _known(ours, theirs):
    """Equal where the peer's formula is defined (an all-zero feature is 0/0 there)."""
    defined = np.isfinite(theirs) & np.isfinite(ours)
    assert defined.sum() >= len(ours) - np.isnan(theirs).sum() - np.isinf(ours).sum()
    np.testing.assert_allclose(ours[defined], theirs[defined], rtol=1e-7, atol=1e-12)


def test_spec_jaccard_from_an_opened_store(side_by_side: SideBySide) -> None:
    dataset = peers.stored("tmc2007-500", full=side_by_side.full)
    by_sets, by_pairs = "NumPy by hand, label sets collapsed", "NumPy by hand, blocks of pairs"
    side_by_side.compare(
        "spec Jaccard phi1, tmc2007-500, opened store to scores",
        ours=lambda: mlfs.get_selector("spec").fit(mlfs.open_dataset(dataset.path)).scores_,
        peers={
            by_sets: lambda: peers.spec_collapsed(mlfs.open_dataset(dataset.path)),
            by_pairs: lambda: peers.spec_blockwise(mlfs.open_dataset(dataset.path)),
        },
        bounds={by_sets: at_most(1.5), by_pairs: faster(50)},
        agree={by_sets: _known, by_pairs: _known},
        once=[by_pairs],
    )


@pytest.mark.filterwarnings("ignore")
def test_spec_against_skfeature(side_by_side: SideBySide) -> None:
    dataset = peers.stored("yeast", full=side_by_side.full, dense=True)
    X, Y = peers.in_memory(dataset)
    X = np.ascontiguousarray(X, dtype=np.float64)
    labels = Y.astype(np.float64)
    W = np.exp(-((labels[:, None, :] - labels[None, :, :]) ** 2).sum(axis=2) / 2.0)
    theirs = {}
    if side_by_side.importable("skfeature"):
        from skfeature.function.similarity_based.SPEC import spec

        # style -1 is phi1 on the whole spectrum; its W is given, so only the scores are timed.
        theirs["skfeature SPEC, similarity given"] = lambda: np.asarray(
            spec(X.copy(), y=None, mode="raw", style=-1, W=sp.csc_matrix(W))
        )
    else:
        pytest.importorskip("skfeature", reason="skfeature comes with `make bench`")
    side_by_side.compare(
        "spec RBF on labels phi1, yeast",
        ours=lambda: mlfs.get_selector("spec", similarity="rbf-labels").fit(X, Y).scores_,
        peers=theirs,
        bounds=dict.fromkeys(theirs, faster(50)),
        agree=dict.fromkeys(theirs, lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6)),
        once=list(theirs),
    )
