r"""ARFF as Mulan (labels last, named in an XML) and MEKA (labels first, ``-C q``) have it.

Every name is quoted, with a backslash before quotes and backslashes, so any name reads back as it
was. Where every row has a side of the split, two files hold the two sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray, ByteArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage.export.columns import Table
from mlfs_dask.storage.export.parts import (
    Exported,
    check_distinct_names,
    has_two_sides,
    left_out,
    number,
    text_file,
)
from mlfs_dask.storage.readers.coding import feature_table
from mlfs_dask.storage.records import NOMINAL, SPLIT_TEST, SPLIT_TRAIN
from mlfs_dask.wording import counted

_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+")
_HARMLESS = re.compile(r"\w[\w.-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def export_mulan(dataset: Table, output: Path, overwrite: bool) -> Exported:
    """Write Mulan's ARFF (labels last) and the XML that names the labels.

    Parameters
    ----------
    dataset
        Opened store.
    output
        ``STEM.arff`` or ``STEM.arff.gz``; the XML is ``STEM.xml``.
    overwrite
        Replace existing files.
    """
    xml = output.with_name(_stem(output) + ".xml")
    with text_file(xml, overwrite=overwrite) as handle:
        handle.write('<?xml version="1.0" encoding="utf-8"?>\n')
        handle.write('<labels xmlns="http://mulan.sourceforge.net/labels">\n')
        for name in dataset.label_names:
            handle.write(f"<label name={_xml_attribute(name)}></label>\n")
        handle.write("</labels>\n")
        exported = _export(dataset, output, overwrite, labels_first=False)
    return Exported((*exported.files, xml), exported.not_held)


def export_meka(dataset: Table, output: Path, overwrite: bool) -> Exported:
    """Write MEKA's ARFF: labels first, their number as ``-C`` in the relation.

    Parameters
    ----------
    dataset
        Opened store.
    output
        ``STEM.arff`` or ``STEM.arff.gz``.
    overwrite
        Replace existing files.
    """
    return _export(dataset, output, overwrite, labels_first=True)


def _export(dataset: Table, output: Path, overwrite: bool, *, labels_first: bool) -> Exported:
    check_distinct_names(dataset)
    declared, swapped = _declared_values(dataset)
    table = _Table(dataset, declared, labels_first)
    if has_two_sides(dataset):
        parts = {SPLIT_TRAIN: _sibling(output, "-train"), SPLIT_TEST: _sibling(output, "-test")}
        held = {"names", "kinds", "split"}
    else:
        parts = {-1: output}
        held = {"names", "kinds"}
    with ExitStack() as stack:
        handles = {
            code: stack.enter_context(text_file(path, overwrite=overwrite))
            for code, path in parts.items()
        }
        table.write(handles)
    notes = [*left_out(dataset, held), *swapped]
    if len(parts) == 2 and (np.diff(dataset.split.astype(np.int8)) < 0).any():
        notes.append("the order of the rows: training rows come first")
    return Exported(tuple(parts.values()), tuple(notes))


class _Table:
    """Declarations and rows of one ARFF table, spelled."""

    def __init__(
        self, dataset: Table, declared: dict[int, tuple[str, ...]], labels_first: bool
    ) -> None:
        self.dataset = dataset
        self.labels_first = labels_first
        self.declared = declared
        self.tokens = {
            f: [_token(value) for value in values] for f, values in self.declared.items()
        }

    def write(self, handles: dict[int, TextIO]) -> None:
        """Write the rows of each side of the split to its handle; -1 takes all rows."""
        for handle in handles.values():
            handle.write(self.head())
        for batch in self.dataset.batches():
            for code, handle in handles.items():
                rows = np.flatnonzero(batch.split == code) if code >= 0 else slice(None)
                handle.writelines(self.lines(batch.X[rows], batch.Y[rows]))

    def head(self) -> str:
        dataset = self.dataset
        # MEKA reads options out of the relation: a name may not look like one.
        relation = dataset.name if _HARMLESS.fullmatch(dataset.name) else "data"
        if self.labels_first:
            relation += f": -C {dataset.n_labels}"
        features = [
            f"@attribute {_quote(name)} {self._type(f)}\n"
            for f, name in enumerate(dataset.feature_names)
        ]
        labels = [f"@attribute {_quote(name)} {{0,1}}\n" for name in dataset.label_names]
        columns = labels + features if self.labels_first else features + labels
        return f"@relation {_quote(relation)}\n\n{''.join(columns)}\n@data\n"

    def _type(self, feature: int) -> str:
        tokens = self.tokens.get(feature)
        return "numeric" if tokens is None else "{" + ",".join(tokens) + "}"

    def lines(self, X: AnyArray | csr_matrix, Y: ByteArray) -> Iterator[str]:
        if issparse(X):
            yield from self._sparse_lines(X, Y)
            return
        for values, labels in zip(X.tolist(), Y.tolist(), strict=True):
            cells = [self._cell(f, value) for f, value in enumerate(values)]
            marks = [str(label) for label in labels]
            row = marks + cells if self.labels_first else cells + marks
            yield ",".join(row) + "\n"

    def _sparse_lines(self, X: csr_matrix, Y: ByteArray) -> Iterator[str]:
        d, q = self.dataset.n_features, self.dataset.n_labels
        first_feature, first_label = (q, 0) if self.labels_first else (0, d)
        indices, values = X.indices.tolist(), X.data.tolist()
        for i in range(X.shape[0]):
            entries = slice(X.indptr[i], X.indptr[i + 1])
            cells = [
                f"{f + first_feature} {self._cell(f, value)}"
                for f, value in zip(indices[entries], values[entries], strict=True)
            ]
            marks = [f"{label + first_label} 1" for label in np.flatnonzero(Y[i])]
            row = marks + cells if self.labels_first else cells + marks
            yield "{" + ",".join(row) + "}\n"

    def _cell(self, feature: int, value: Any) -> str:
        if value != value:
            return "?"
        tokens = self.tokens.get(feature)
        if tokens is None:
            return number(float(value))
        code = int(value)
        if code != value or not 0 <= code < len(tokens):
            raise InputError(
                f"feature {self.dataset.feature_names[feature]!r} holds the code {value!r}, "
                f"but declares {counted(len(tokens), 'value')}"
            )
        return tokens[code]


def _declared_values(dataset: Table) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """Declared values of the nominal features, and what reading them back would change."""
    declared, swapped = {}, []
    for f in np.flatnonzero(dataset.feature_kind == NOMINAL).tolist():
        values = dataset.categories.get(f)
        name = dataset.feature_names[f]
        if values is None:
            swapped.append(f"that feature {name!r} is nominal: it declares no values")
            continue
        declared[f] = values
        if feature_table(values).categories != values:
            swapped.append(f"the codes of feature {name!r}: {values[0]!r} reads back as 1")
    return declared, swapped


def _stem(output: Path) -> str:
    return Path(output.name.removesuffix(".gz")).stem


def _sibling(output: Path, ending: str) -> Path:
    stem = _stem(output)
    return output.with_name(stem + ending + output.name[len(stem) :])


def _token(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else _quote(value)


def _quote(text: str) -> str:
    return "'" + text.translate(_ESCAPES) + "'"


def _xml_attribute(name: str) -> str:
    """Quoted attribute value; white space other than blanks as character references."""
    if any(ord(char) < 32 and char not in "\n\r\t" for char in name):
        raise InputError(
            f"the label name {name!r} holds a control character, which XML cannot",
            hint="Export to meka or npz.",
        )
    return quoteattr(name)
