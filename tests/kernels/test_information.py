import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.kernels import information as kernels
from reference import information as twin


def cells_of(codes, Y, rows):
    """Sums over the cells of features with codes 0 (the base) to 3, over some rows."""
    columns = [codes[rows, f] == v for f in range(codes.shape[1]) for v in (1, 2, 3)]
    member = np.column_stack([np.ones(len(Y), dtype=np.int64), Y])[rows]
    counts = np.array([column @ member for column in columns], dtype=np.int64)
    out = np.zeros((codes.shape[1], Y.shape[1] + 1))
    start, table = 3 * np.arange(codes.shape[1] + 1), kernels.log_table(len(Y))
    kernels.add_cells(counts, member.sum(axis=0), start, table, 0, out)
    return out


@st.composite
def coded(draw):
    n, d, q = (draw(st.integers(1, most)) for most in (30, 4, 3))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 3)))
    return codes, draw(hnp.arrays(np.int64, (n, q), elements=st.integers(0, 1)))


def test_table_of_logarithms():
    assert kernels.log_table(4).tolist() == [0.0, 0.0, 2.0, 3 * np.log2(3.0), 8.0]
    assert kernels.log_table(0).tolist() == [0.0]


@given(table=coded())
def test_terms_equal_the_plain_twin(table):
    codes, Y = table
    n, everyone = len(Y), np.ones(len(Y), dtype=bool)
    g = kernels.log_table(n)
    cells = cells_of(codes, Y, everyone)
    labels = cells_of(Y, Y, everyone)[:, 0].copy()
    s = codes[:, 0]
    joint = sum(cells_of(codes, Y, s == v) for v in np.unique(s))
    relevance = kernels.relevance_sums(cells, labels, g)
    shared = kernels.feature_information(joint, cells, cells[0], g)
    conditional = kernels.conditional_sums(joint, cells[0], n)
    for first in range(Y.shape[1] + 1):
        found = kernels.interaction_sums(joint, cells, cells[0], labels, g, first)
        for f, column in enumerate(codes.T):
            expected = sum(twin.interaction(column, s, y) for y in Y.T[first:])
            assert found[f] == pytest.approx(expected, abs=1e-12)
    for f, column in enumerate(codes.T):
        assert relevance[f] == pytest.approx(
            sum(twin.information(column, y) for y in Y.T), abs=1e-12
        )
        assert shared[f] == pytest.approx(twin.information(column, s), abs=1e-12)
        assert conditional[f] == pytest.approx(
            sum(twin.conditional(column, y, s) for y in Y.T), abs=1e-12
        )


@given(table=coded(), flip=st.integers(0, 7))
def test_a_complement_has_the_same_bits(table, flip):
    """Feature, chosen feature or label turned round: every sum of cells stays as it is."""
    codes, Y = np.minimum(table[0], 1), table[1]
    turned = codes.copy()
    if flip & 1:
        turned[:, -1] ^= 1
    if flip & 2:
        turned[:, 0] ^= 1
    labels = Y ^ 1 if flip & 4 else Y
    sums = []
    for c, y in ((codes, Y), (turned, labels)):
        s = c[:, 0]
        parts = [cells_of(c, y, s == 1), cells_of(c, y, s == 0)]
        sums.append((parts[0] + parts[1])[-1].tolist())
    assert sums[0] == sums[1]


def test_rounding_noise_counts_as_zero():
    # 3 x 7 rows, f and l independent: I(f;l) is 0, but the logarithms do not cancel exactly.
    f, y = np.repeat([0, 1, 2], 7), np.tile([0, 1, 1, 0, 1, 0, 0], 3)
    codes, Y = f[:, None], y[:, None]
    everyone = np.ones(21, dtype=bool)
    cells, labels = cells_of(codes, Y, everyone), cells_of(Y, Y, everyone)[:, 0].copy()
    g = kernels.log_table(21)
    assert g[21] - cells[0, 0] - labels[0] + cells[0, 1] != 0.0
    assert kernels.relevance_sums(cells, labels, g).tolist() == [0.0]
