import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.kernels.cooccurrence import ListedRows, PackedRows, count_listed, count_packed
from mlfs_dask.kernels.discretize import pack_columns


def packed(C, Y):
    return PackedRows(
        np.ascontiguousarray(pack_columns(C).T), np.ascontiguousarray(pack_columns(Y).T)
    )


def listed(C, Y):
    columns, labels = sp.csr_matrix(C), sp.csr_matrix(Y)
    markers = sp.csc_matrix(np.hstack([C, Y]))
    lists = (columns.indptr, columns.indices, labels.indptr, labels.indices)
    lists = (*lists, markers.indptr, markers.indices)
    return ListedRows(*(np.asarray(each, dtype=np.int32) for each in lists))


@st.composite
def zeros_and_ones(draw):
    n = draw(st.sampled_from([0, 1, 2, 63, 64, 65, 130]))
    c, q = draw(st.integers(0, 5)), draw(st.integers(1, 4))
    bits = st.integers(0, 1)
    return [draw(hnp.arrays(np.uint8, (n, width), elements=bits)) for width in (c, q)]


@given(table=zeros_and_ones())
def test_both_forms_count_what_plain_products_count(table):
    C, Y = table
    member = np.column_stack([np.ones(len(Y), dtype=np.int32), Y])
    for marker, marked in enumerate([*C.T, *Y.T]):
        rows = marked == 1
        expected = C[rows].T.astype(np.int32) @ member[rows]
        for form, count in ((packed, count_packed), (listed, count_listed)):
            counts = np.zeros((C.shape[1], Y.shape[1] + 1), dtype=np.int32)
            count(form(C, Y), marker, counts)
            np.testing.assert_array_equal(counts, expected)
