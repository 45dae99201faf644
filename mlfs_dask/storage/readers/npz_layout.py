"""The ``.npz`` layout: one NumPy archive that holds a whole store.

==================  ======================  ==================================================
key                 dtype, shape            meaning
==================  ======================  ==================================================
``mlfs_npz``        int64, ()               version of this layout, 1
``name``            str, ()                 name of the table
``X``               any real, (n, d)        dense rows; or the four keys below instead
``X_data``          any real, (nnz,)        CSR values, NaN = missing
``X_indices``       int, (nnz,)             CSR column indices, ascending in a row
``X_indptr``        int, (n + 1,)           CSR row bounds
``X_shape``         int, (2,)               (n, d)
``Y``               uint8, (n, q)           1 relevant, 0 not
``split``           uint8, (n,)             0 none, 1 train, 2 test
``feature_names``   str, (d,)
``label_names``     str, (q,)
``feature_kind``    uint8, (d,)             0 numeric, 1 nominal
``category_of``     int64, (k,)             indices of the nominal features
``category_count``  int64, (k,)             number of values of each
``category_values`` str, (sum of counts,)   their values, in the order of the stored codes
``feature_cost``    float64, (d,)           only where the store has costs
==================  ======================  ==================================================

Only ``X`` (or its CSR parts) and ``Y`` are required on reading, so an archive made by hand with
``numpy.savez(file, X=X, Y=Y)`` is read too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Final

import numpy as np

from mlfs_dask._typing import AnyArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage.records import TableHeader

VERSION: Final = 1

KEY_VERSION: Final = "mlfs_npz"
KEY_NAME: Final = "name"
KEY_X: Final = "X"
KEY_X_DATA: Final = "X_data"
KEY_X_INDICES: Final = "X_indices"
KEY_X_INDPTR: Final = "X_indptr"
KEY_X_SHAPE: Final = "X_shape"
KEY_Y: Final = "Y"
KEY_SPLIT: Final = "split"
KEY_FEATURE_NAMES: Final = "feature_names"
KEY_LABEL_NAMES: Final = "label_names"
KEY_FEATURE_KIND: Final = "feature_kind"
KEY_CATEGORY_OF: Final = "category_of"
KEY_CATEGORY_COUNT: Final = "category_count"
KEY_CATEGORY_VALUES: Final = "category_values"
KEY_FEATURE_COST: Final = "feature_cost"


def header_arrays(header: TableHeader) -> dict[str, AnyArray]:
    """The arrays of an archive that say what a header says (all but X, Y and split).

    Parameters
    ----------
    header
        Names, kinds, categories and costs of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from mlfs_dask.storage.records import TableHeader
    >>> head = TableHeader(name="t", feature_names=("a", "b"), label_names=("l",),
    ...     feature_kind=np.array([0, 1], np.uint8), categories={1: ("no", "yes")})
    >>> header_arrays(head)["category_values"].tolist()
    ['no', 'yes']
    """
    nominal = sorted(header.categories)
    values = [value for index in nominal for value in header.categories[index]]
    arrays: dict[str, AnyArray] = {
        KEY_VERSION: np.array(VERSION, dtype=np.int64),
        KEY_NAME: np.array(header.name, dtype=np.str_),
        KEY_FEATURE_NAMES: np.array(header.feature_names, dtype=np.str_),
        KEY_LABEL_NAMES: np.array(header.label_names, dtype=np.str_),
        KEY_FEATURE_KIND: np.asarray(header.feature_kind, dtype=np.uint8),
        KEY_CATEGORY_OF: np.array(nominal, dtype=np.int64),
        KEY_CATEGORY_COUNT: np.array([len(header.categories[i]) for i in nominal], dtype=np.int64),
        KEY_CATEGORY_VALUES: np.array(values, dtype=np.str_),
    }
    if header.feature_cost is not None:
        arrays[KEY_FEATURE_COST] = np.asarray(header.feature_cost, dtype=np.float64)
    return arrays


def read_categories(get: Callable[[str], AnyArray | None]) -> dict[int, tuple[str, ...]]:
    """Values of the nominal features, from the arrays of an archive.

    Parameters
    ----------
    get
        Array of a key, None where the archive has none.

    Raises
    ------
    InputError
        The three arrays contradict each other.
    """
    of, count, values = (
        get(key) for key in (KEY_CATEGORY_OF, KEY_CATEGORY_COUNT, KEY_CATEGORY_VALUES)
    )
    if of is None or count is None or values is None:
        return {}
    counts = [int(c) for c in count.ravel().tolist()]
    if len(counts) != of.size or min(counts, default=1) < 1 or sum(counts) != values.size:
        raise InputError(
            f"{KEY_CATEGORY_OF}, {KEY_CATEGORY_COUNT} and {KEY_CATEGORY_VALUES} differ"
        )
    texts = [str(value) for value in values.ravel().tolist()]
    ends = list(accumulate(counts))
    return {
        int(index): tuple(texts[end - size : end])
        for index, end, size in zip(of.ravel().tolist(), ends, counts, strict=True)
    }
