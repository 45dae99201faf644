"""MATLAB ``.mat`` files (version 5 to 7.2) as papers in the field ship them.

========================================================  ==========================================
variables                                                 target
========================================================  ==========================================
``train_data``, ``train_target``, ``test_data``,          q x n, -1/+1 (or 0/1); n x q is
``test_target``; the test part may be absent              recognised by its shape
``data``, ``target``                                      as above
``X``, ``Y``, ``Xt``, ``Yt``; the test part may be        n x q, 0/1 (or -1/+1)
absent
========================================================  ==========================================

Features are all numeric and have no names; labels take theirs from an XML of the same stem, or from
the only XML in the folder if it has as many. A test part fills the split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.mat5 import Foreign, read_mat5
from mlfs_dask.storage.readers.mulan_xml import read_label_names
from mlfs_dask.storage.readers.plain_arrays import (
    dense_steps,
    feature_rows,
    label_rows,
    numbered,
    one_or_pair,
    plain_header,
    row_steps,
    source_file,
)
from mlfs_dask.storage.readers.textfile import file_digest, read_whole, reading
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    SPLIT_NONE,
    SPLIT_TEST,
    SPLIT_TRAIN,
    ReadOptions,
    RowBatch,
    SourceFile,
    TableReader,
    empty_split,
)
from mlfs_dask.wording import counted

# Data, target, and whether the target is q x n where its shape does not tell.
_KEYS: Final = (
    (("train_data", "train_target"), ("test_data", "test_target"), True),
    (("data", "target"), None, True),
    (("X", "Y"), ("Xt", "Yt"), False),
)
_NEW: Final = (b"\x89HDF", b"MATLAB 7.3 MAT-file")
_WHOLE_FILE: Final = "Copy or download the file again."


def open_mat(path: Path, test: Path | None, options: ReadOptions) -> TableReader:
    """Open a ``.mat`` file, or a training and a test file.

    Parameters
    ----------
    path, test
        The files.
    options
        ``xml`` names the labels; ``name`` overrides the stem.

    Raises
    ------
    DataFileError
        Not a MATLAB file of version 5 to 7.2, none of the sets of variables, shapes or values that
        do not fit.
    """
    second = None if test is None else MatTable(test, options)
    return one_or_pair(MatTable(path, options), path, second, test)


@dataclass(frozen=True)
class _Part:
    """Rows of one part: X is n x d, Y is n x q."""

    name: str
    X: Any
    target_name: str
    Y: Any
    split: int


class MatTable:
    """Rows and header of one ``.mat`` file.

    The file is read in one piece, as its format wants; only the conversion to rows goes in batches.

    Parameters
    ----------
    path
        The file.
    options
        ``xml`` and ``name``.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path = path
        self._parts, self._zero = self._read()
        first = self._parts[0]
        d, q = first.X.shape[1], first.Y.shape[1]
        xml, labels, notes = self._label_names(q, options)
        sources = source_file(path, file_digest(path), "mat")
        if xml is not None:
            digest = file_digest(xml)
            sources += (
                SourceFile(name=xml.name, sha256=digest, format="mulan-xml", role="labels"),
            )
        self.header = plain_header(
            options.name or stem_of(path),
            numbered("f", d, 1),
            labels,
            is_sparse=issparse(first.X),
            source=sources,
            notes=notes,
        )

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in order, the training part first; each call reads the file anew.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        parts, zero = self._read()
        n_labels = self.header.n_labels
        while parts:
            part = parts.pop(0)
            for start, stop in _bounds(part, n_labels, max_bytes):
                rows = feature_rows(self._path, part.name, part.X[start:stop], start)
                marks = part.Y[start:stop]
                marks = marks.toarray() if issparse(marks) else marks
                Y = label_rows(self._path, part.target_name, marks, start, zero)
                yield RowBatch(rows, Y, empty_split(stop - start, part.split))

    def _read(self) -> tuple[list[_Part], float]:
        """Parts of the file, and how a label that is not relevant is written."""
        variables = self._load()
        for train, test, turned in _KEYS:
            names = _matching(variables, train)
            if names is None:
                continue
            parts = [self._part(variables, names, turned, SPLIT_NONE)]
            more = None if test is None else _matching(variables, test)
            if more is not None:
                parts[0] = replace(parts[0], split=SPLIT_TRAIN)
                parts.append(self._part(variables, more, turned, SPLIT_TEST))
                parts[1] = self._like_first(parts[0], parts[1])
            return parts, self._zero_of(parts)
        shown = ", ".join(sorted(variables)[:8]) or "none"
        raise self._error(
            f"its variables ({shown}) are none of the sets known",
            "train_data and train_target, data and target, or X and Y",
            "Rename the variables in MATLAB, or export the data as CSV.",
        )

    def _load(self) -> dict[str, Any]:
        with reading(self._path), self._path.open("rb") as raw:
            magic = raw.read(19)
        if magic.startswith(_NEW):
            raise self._error(
                "a MATLAB 7.3 file (HDF5), which is not read",
                "version 7 or older",
                "Save it in MATLAB with save(..., '-v7').",
            )
        wanted = {n.lower() for train, test, _ in _KEYS for n in (*train, *(test or ()))}
        try:
            return read_mat5(read_whole(self._path), lambda name: name.lower() in wanted)
        except DataFileError:
            raise
        except ValueError as error:
            raise self._error(
                f"cannot be read as a MATLAB file: {error}",
                "a .mat file of version 5 to 7.2",
                _WHOLE_FILE,
            ) from error

    def _part(
        self, variables: Mapping[str, Any], names: tuple[str, str], turned: bool, split: int
    ) -> _Part:
        X, target = (self._matrix(variables[name], name) for name in names)
        n = X.shape[0]
        fits, fits_turned = target.shape[0] == n, target.shape[1] == n
        if not fits and not fits_turned:
            raise self._error(
                f"{names[0]} is {_shape(X)}, {names[1]} is {_shape(target)}",
                f"labels of {counted(n, 'row')}, or {counted(n, 'column')}",
            )
        Y = target.T if fits_turned and (turned or not fits) else target
        X, Y = (csr_matrix(array) if issparse(array) else array for array in (X, Y))
        return _Part(names[0], X, names[1], Y, split)

    def _matrix(self, value: Any, name: str) -> Any:
        if isinstance(value, Foreign):
            raise self._error(
                f"{name} holds {value.kind}",
                "a matrix of real numbers",
                "Convert it to a numeric matrix before saving.",
            )
        if value.ndim != 2:
            raise self._error(
                f"{name} has {counted(value.ndim, 'axis', 'axes')}", "rows and columns"
            )
        if 0 in value.shape:
            raise self._error(f"{name} is empty, {_shape(value)}", "at least one row and column")
        return value

    def _like_first(self, first: _Part, part: _Part) -> _Part:
        """The test part in the layout of the training part."""
        for what, one, other in (("feature", first.X, part.X), ("label", first.Y, part.Y)):
            if one.shape[1] != other.shape[1]:
                raise self._error(
                    f"{part.name} has {counted(other.shape[1], what)}, {first.name} has "
                    f"{one.shape[1]}",
                    f"the same {what}s in both parts",
                )
        if issparse(first.X) == issparse(part.X):
            return part
        X = csr_matrix(part.X) if issparse(first.X) else part.X.toarray()
        return replace(part, X=X)

    def _zero_of(self, parts: list[_Part]) -> float:
        """0 or -1; cells of both kinds are refused, 0 beside -1 often means unknown."""
        lowest = min(float(part.Y.min()) for part in parts)
        if lowest != -1:
            return 0.0
        for part in parts:
            if issparse(part.Y) and part.Y.nnz < part.Y.shape[0] * part.Y.shape[1]:
                raise self._error(
                    f"{part.target_name} has -1 and 0 in it", "labels 0/1, or labels -1/+1"
                )
        return -1.0

    def _label_names(
        self, q: int, options: ReadOptions
    ) -> tuple[Path | None, tuple[str, ...], tuple[str, ...]]:
        """The XML that names the labels, the names, and notes."""
        if options.xml is not None:
            return options.xml, self._counted(options.xml, q), ()
        folder = self._path.parent
        exact = folder / f"{stem_of(self._path)}.xml"
        if exact.is_file():
            return exact, self._counted(exact, q), ()
        with reading(folder):
            present = sorted(p for p in folder.iterdir() if p.suffix.lower() == ".xml")
        same = [p for p in present if p.stem.lower() == stem_of(self._path).lower()]
        candidates = same or (present if len(present) == 1 else [])
        notes: list[str] = []
        for candidate in candidates:
            try:
                return candidate, self._counted(candidate, q), tuple(notes)
            except DataFileError as error:
                notes.append(f"an XML beside the file was passed over: {error.message}")
        return None, numbered("y", q, 1), tuple(notes)

    def _counted(self, xml: Path, q: int) -> tuple[str, ...]:
        names = read_label_names(xml)
        if len(names) != q:
            raise DataFileError.at(
                xml,
                problem=f"names {counted(len(names), 'label')}, {self._path.name} has {q}",
                expected=counted(q, "name"),
                hint="Give the right XML with --xml.",
            )
        return names

    def _error(
        self, problem: str, expected: str | None = None, hint: str | None = None
    ) -> DataFileError:
        return DataFileError.at(self._path, problem=problem, expected=expected, hint=hint)


def _bounds(part: _Part, n_labels: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    n, d = part.X.shape
    if issparse(part.X):
        indptr: IntArray = part.X.indptr.astype(np.int64)
        yield from row_steps(indptr, n_labels, max_bytes)
        return
    steps = dense_steps(n, d, n_labels, max_bytes)
    for start in steps:
        yield start, min(start + steps.step, n)


def _matching(variables: Mapping[str, Any], names: tuple[str, str]) -> tuple[str, str] | None:
    """The two variables by name, exactly, else in any case; None unless both are there."""
    found: list[str] = []
    for name in names:
        near = [other for other in variables if other.lower() == name.lower()]
        if not near:
            return None
        found.append(name if name in near else near[0])
    return found[0], found[1]


def _shape(array: Any) -> str:
    return " x ".join(map(str, array.shape))
