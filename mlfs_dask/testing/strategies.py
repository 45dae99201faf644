"""Hypothesis strategies for tables as readers of files yield them; needs hypothesis installed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix

from mlfs_dask.testing.tables import ArrayTable

NASTY_NAMES: Final = (
    "a b",
    " padded ",
    "it's",
    'say "so"',
    "back\\slash",
    "ends in \\",
    "com,ma",
    "semi;colon",
    "{brace}",
    "100%",
    "% no comment",
    "@data",
    "?",
    "naïve ΑΒΓ 標籤 🎵",
    "<tag> & co",
    "-C 3",
    "0",
    "None",
    "'quoted'",
)
"""Names with blank, quote, backslash, comma, brace, non-ASCII and words that formats reserve."""

_ALPHABETS: Final = {
    "uint8": st.integers(0, 255).map(float),
    "int16": st.integers(-300, 300).map(float),
    "float32": st.floats(-1e6, 1e6, width=32),
    "float64": st.floats(-1e6, 1e6),
}


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    max_rows: int = 40,
    max_features: int = 8,
    missing: bool = True,
    plain_names: bool = False,
) -> ArrayTable:
    """Tables of any small shape: dense or sparse, kinds, costs, split, nasty names.

    Parameters
    ----------
    draw
        Given by hypothesis.
    max_rows, max_features
        Bounds on the shape.
    missing
        Values may be missing.
    plain_names
        Keep the names f0, f1, ... and l0, l1, ...

    Examples
    --------
    ::

        @given(tables())
        def test_round_trip(table): ...
    """
    n, d, q = draw(
        st.tuples(st.integers(1, max_rows), st.integers(1, max_features), st.integers(1, 4))
    )
    X = draw(
        hnp.arrays(np.float64, (n, d), elements=_ALPHABETS[draw(st.sampled_from(list(_ALPHABETS)))])
    )
    X *= draw(hnp.arrays(np.bool_, (n, d)))
    categories = {f: draw(_domains()) for f in draw(st.sets(st.integers(0, d - 1), max_size=d))}
    for f, values in categories.items():
        X[:, f] = np.abs(X[:, f].astype(np.int64)) % len(values)
    if missing and draw(st.booleans()):
        X[draw(hnp.arrays(np.bool_, (n, d)))] = np.nan
    names = [str(name) for name in NASTY_NAMES]
    shuffled = None if plain_names else draw(st.permutations(names))
    return ArrayTable(
        csr_matrix(X) if draw(st.booleans()) else X,
        draw(hnp.arrays(np.uint8, (n, q), elements=st.integers(0, 1))),
        draw(st.none() | hnp.arrays(np.uint8, n, elements=st.integers(0, 2))),
        feature_names=shuffled and shuffled[:d],
        label_names=shuffled and shuffled[d : d + q],
        categories=categories,
        feature_cost=draw(st.none() | hnp.arrays(np.float64, d, elements=st.floats(0, 100))),
        batch_rows=draw(st.integers(1, n)),
    )


def _domains() -> st.SearchStrategy[tuple[str, ...]]:
    """Declared values in the order of the codes, such that files give the same codes back."""
    two: list[tuple[str, ...]] = [("0", "1"), ("NO", "YES"), ("a", "b b"), ("x", "t")]
    more: list[tuple[str, ...]] = [("it's", "b,c", "{d}"), ("3", "1", "2"), ("only one",)]
    return st.sampled_from(two + more)


def same_table(first: Any, second: Any) -> bool:
    """Whether two opened stores (or tables) hold the same names, kinds, costs and values.

    Parameters
    ----------
    first, second
        Anything with ``header`` and ``batches()``.
    """
    return _parts(first) == _parts(second)


def _parts(table: Any) -> tuple[Any, ...]:
    header = table.header
    batches = list(table.batches())
    X = np.vstack([b.X.toarray() if header.is_sparse else b.X for b in batches]).astype(float)
    costs = header.feature_cost
    return (
        header.feature_names,
        header.label_names,
        header.feature_kind.tolist(),
        header.categories,
        None if costs is None else costs.tolist(),
        np.where(X == 0, 0.0, X).tobytes(),
        np.vstack([b.Y for b in batches]).tobytes(),
        np.concatenate([b.split for b in batches]).tobytes(),
    )
