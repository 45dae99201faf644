"""CSV and libsvm's multi-label text: the values, and the names where there is room for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import ByteArray
from mlfs_dask.errors import MissingValuesError
from mlfs_dask.storage.export.columns import Table
from mlfs_dask.storage.export.parts import (
    Exported,
    check_distinct_names,
    has_missing,
    left_out,
    number,
    text_file,
)
from mlfs_dask.storage.records import RowBatch


def export_csv(dataset: Table, output: Path, overwrite: bool) -> Exported:
    """Write a header of names and a line for each row: features, then labels; missing is empty.

    Nominal features are written as their codes.

    Parameters
    ----------
    dataset
        Opened store.
    output
        ``STEM.csv`` or ``STEM.csv.gz``; read it back with as many ``--labels`` as there are labels.
    overwrite
        Replace an existing file.
    """
    check_distinct_names(dataset)
    with text_file(output, overwrite=overwrite) as handle:
        _write_names(handle, (*dataset.feature_names, *dataset.label_names))
        writer = csv.writer(handle, lineterminator="\n")
        for batch in dataset.batches():
            writer.writerows(_cells(batch, dataset.is_sparse))
    return Exported((output,), left_out(dataset, {"names"}))


def _write_names(handle: TextIO, names: Sequence[str]) -> None:
    # Python's csv leaves a lone carriage return bare, and a first byte order mark would be lost.
    odd = names[0].startswith("\ufeff") or any("\r" in name for name in names)
    writer = (
        csv.writer(handle, lineterminator="\n", quoting=csv.QUOTE_ALL)
        if odd
        else csv.writer(handle, lineterminator="\n")
    )
    writer.writerow(names)


def _cells(batch: RowBatch, is_sparse: bool) -> Iterator[list[str]]:
    labels = batch.Y.tolist()
    if not is_sparse:
        for values, marks in zip(np.asarray(batch.X).tolist(), labels, strict=True):
            yield ["" if v != v else number(float(v)) for v in values] + [str(m) for m in marks]
        return
    for i, marks in enumerate(labels):  # a row at a time: the whole may not fit as dense
        row = batch.X[i].toarray()[0].tolist()
        yield ["" if v != v else number(float(v)) for v in row] + [str(m) for m in marks]


def export_libsvm(dataset: Table, output: Path, overwrite: bool) -> Exported:
    """Write a line for each row: labels by position, then entries ``index:value``, both from 1.

    Parameters
    ----------
    dataset
        Opened store.
    output
        File to write.
    overwrite
        Replace an existing file.

    Raises
    ------
    MissingValuesError
        An omitted entry means 0, so missing values have no place here.
    """
    if has_missing(dataset):
        raise MissingValuesError(
            f"{dataset.name!r} has missing values, which libsvm text cannot hold",
            hint="Export to arff, csv or npz.",
        )
    last_feature, last_label = -1, -1
    with text_file(output, overwrite=overwrite) as handle:
        for batch in dataset.batches():
            X = csr_matrix(batch.X)
            X.eliminate_zeros()
            handle.writelines(_entries(X, batch.Y))
            last_feature = max(last_feature, int(X.indices.max(initial=-1)))
            last_label = max(last_label, *np.flatnonzero(batch.Y.any(axis=0)).tolist(), -1)
    return Exported((output,), _libsvm_left_out(dataset, last_feature, last_label))


def _entries(X: csr_matrix, Y: ByteArray) -> Iterator[str]:
    indices, values = (X.indices + 1).tolist(), X.data.tolist()
    for i in range(X.shape[0]):
        entries = slice(X.indptr[i], X.indptr[i + 1])
        labels = ",".join(map(str, (np.flatnonzero(Y[i]) + 1).tolist()))
        cells = [
            f"{index}:{number(float(value))}"
            for index, value in zip(indices[entries], values[entries], strict=True)
        ]
        yield labels + " " + " ".join(cells) + "\n"


def _libsvm_left_out(dataset: Table, last_feature: int, last_label: int) -> tuple[str, ...]:
    notes = list(left_out(dataset, set()))
    empty = dataset.n_features - 1 - last_feature
    if empty:
        which = "feature, which is" if empty == 1 else f"{empty} features, which are"
        notes.append(f"the last {which} 0 in every row")
    never = dataset.n_labels - 1 - last_label
    if never:
        which = "label" if never == 1 else f"{never} labels"
        notes.append(f"the last {which}, which no row has")
    return tuple(notes)
