"""ARFF tables: Mulan's with an XML, MEKA's with ``-C``, and single-label ones with a class.

A table is one file, or a training and a test file whose attributes have the same names. What the
table looks like is settled before any row is handed out: which attributes are labels, how nominal
values are coded, which attributes are identifiers and stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.arff_cells import Column
from mlfs_dask.storage.readers.arff_header import Attribute, Declarations, read_declarations
from mlfs_dask.storage.readers.arff_rows import ArffRows
from mlfs_dask.storage.readers.arff_split import ColumnRoles, row_parts, split_rows
from mlfs_dask.storage.readers.batching import rebatch
from mlfs_dask.storage.readers.coding import (
    CodeTable,
    class_table,
    feature_table,
    label_table,
    position_table,
    union,
)
from mlfs_dask.storage.readers.labels import LabelChoice, find_labels, stem_of, training_rows
from mlfs_dask.storage.readers.textfile import check_file, file_digest, line_blocks
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    NOMINAL,
    SPLIT_NONE,
    SPLIT_TEST,
    SPLIT_TRAIN,
    ReadOptions,
    RowBatch,
    SourceFile,
    TableHeader,
    row_bytes,
)

_IDENTIFIER_VALUES: Final = 20
_IDENTIFIER_SHARE: Final = 0.95
# A numeric label attribute is read like one declared {0,1}.
_BINARY: Final = CodeTable(("0", "1"), (0.0, 1.0))


def open_arff(path: Path, test: Path | None, options: ReadOptions) -> ArffTable:
    """Open an ARFF file, or a training and a test file, as a table.

    Parameters
    ----------
    path, test
        Plain, gzip or bzip2 files.
    options
        What the files do not say.

    Raises
    ------
    DataFileError, InputError, NotFoundError
        The files or the options do not fit.
    """
    return ArffTable(path, test, options)


@dataclass(frozen=True)
class _File:
    """One file of the table; ``target[a]`` is the table's column of its attribute ``a``."""

    path: Path
    declared: Declarations
    target: IntArray
    split: int


class ArffTable:
    """Rows and header of one or two ARFF files.

    Parameters
    ----------
    path, test
        The files.
    options
        What they do not say.

    Attributes
    ----------
    header : TableHeader
        Names, kinds, sources.
    """

    def __init__(self, path: Path, test: Path | None, options: ReadOptions) -> None:
        self._files = _open_files(path, test)
        first = self._files[0]
        self._attributes = _united(self._files)
        choice = find_labels(path, first.declared, options)
        self._labels = frozenset(choice.columns)
        n_training = training_rows(first.declared) if test is None else None
        self._n_training = n_training
        notes = list(choice.notes)
        identifiers = [] if options.keep_identifiers else self._identifiers(choice)
        notes += [
            f"attribute {self._attributes[c].name!r} has a value of its own in nearly every row, "
            "like an identifier: kept out (--keep-identifiers keeps it)"
            for c in identifiers
        ]
        self._tables = self._code_tables(choice, options, notes)
        self._roles = ColumnRoles(
            n_columns=len(self._attributes),
            labels=np.array(choice.columns, dtype=np.int64),
            dropped=np.array(identifiers, dtype=np.int64),
        )
        self.header = self._make_header(path, test, options, choice, tuple(notes))

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in file order; each call reads the files anew.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        return rebatch(self._pieces(), max_bytes)

    def _pieces(self) -> Iterator[RowBatch]:
        seen = 0
        max_rows = max(1, 2 * BATCH_BYTES // row_bytes(len(self._attributes), 0))
        for file in self._files:
            before = seen
            default = self._defaults(file)
            decoder = self._decoder(file, self._tables)
            for block in line_blocks(file.path, start_line=file.declared.data_line):
                for rows in row_parts(decoder.decode(block), max_rows):
                    X, Y = split_rows(
                        rows, self._roles, file.target, default, as_csr=self.header.is_sparse
                    )
                    yield RowBatch(X, Y, self._split_of(file, seen - before, len(Y)))
                    seen += len(Y)
            if seen == before:
                raise DataFileError.at(
                    file.path,
                    problem="no row follows @data",
                    expected="at least one row",
                    hint="The file may be truncated: copy or download it again.",
                )

    def _split_of(self, file: _File, start: int, n_rows: int) -> np.ndarray:
        if self._n_training is None:
            return np.full(n_rows, file.split, dtype=np.uint8)
        in_training = np.arange(start, start + n_rows) < self._n_training
        return np.where(in_training, SPLIT_TRAIN, SPLIT_TEST).astype(np.uint8)

    def _decoder(self, file: _File, tables: Sequence[CodeTable | None]) -> ArffRows:
        """Decoder of the rows of a file, in the order of its own attributes."""
        columns = [
            Column(attribute.name, tables[column], is_label=column in self._labels)
            for attribute, column in zip(
                file.declared.attributes, file.target.tolist(), strict=True
            )
        ]
        return ArffRows(file.path, columns, is_sparse=file.declared.is_sparse)

    def _defaults(self, file: _File) -> FloatArray:
        """What an omitted cell of a sparse row means, by column of the table.

        0 for a numeric attribute, the first value the file declares for a nominal one.
        """
        default = np.zeros(len(self._attributes))
        for attribute, column in zip(file.declared.attributes, file.target.tolist(), strict=True):
            table = self._tables[column]
            if table is not None and attribute.values is not None:
                default[column] = table.by_text[attribute.values[0].encode()]
        return default

    def _identifiers(self, choice: LabelChoice) -> list[int]:
        """Nominal features of which nearly every row uses a value of its own."""
        candidates = [
            column
            for column, attribute in enumerate(self._attributes)
            if attribute.values is not None
            and len(attribute.values) > _IDENTIFIER_VALUES
            and column not in choice.columns
        ]
        if not candidates:
            return []
        counts, n_rows = self._count_values(candidates)
        return [
            column
            for column in candidates
            if np.count_nonzero(counts[column]) >= _IDENTIFIER_SHARE * n_rows
        ]

    def _count_values(self, columns: Sequence[int]) -> tuple[dict[int, IntArray], int]:
        """How often each declared value of some nominal attributes occurs, and the rows."""
        shared = {a.values: position_table(a.values) for a in self._attributes if a.values}
        tables = [shared.get(a.values) if a.values else None for a in self._attributes]
        counts = {c: np.zeros(len(self._attributes[c].values or ()), np.int64) for c in columns}
        n_rows = 0
        for file in self._files:
            own = {column: int(np.flatnonzero(file.target == column)[0]) for column in columns}
            decoder = self._decoder(file, tables)
            for block in line_blocks(file.path, start_line=file.declared.data_line):
                n_here, found = decoder.columns(block, list(own.values()))
                for column, position in own.items():
                    codes = found[position]
                    known = codes[~np.isnan(codes)].astype(np.int64)
                    counts[column] += np.bincount(known, minlength=len(counts[column]))
                    if file.declared.is_sparse:
                        counts[column][self._omitted(file, column, tables)] += n_here - len(codes)
                n_rows += n_here
        return counts, n_rows

    @staticmethod
    def _omitted(file: _File, column: int, tables: Sequence[CodeTable | None]) -> int:
        """Code of an omitted cell of a nominal attribute."""
        position = int(np.flatnonzero(file.target == column)[0])
        table, values = tables[column], file.declared.attributes[position].values
        assert table is not None
        assert values is not None
        return int(table.by_text[values[0].encode()])

    def _code_tables(
        self, choice: LabelChoice, options: ReadOptions, notes: list[str]
    ) -> list[CodeTable | None]:
        tables: list[CodeTable | None] = []
        shared: dict[tuple[str, ...], CodeTable] = {}
        for column, attribute in enumerate(self._attributes):
            if column in self._labels:
                tables.append(self._label_table(column, choice, options, notes))
            elif attribute.values is None:
                tables.append(None)
            else:
                if attribute.values not in shared:
                    shared[attribute.values] = feature_table(attribute.values)
                tables.append(shared[attribute.values])
        return tables

    def _label_table(
        self, column: int, choice: LabelChoice, options: ReadOptions, notes: list[str]
    ) -> CodeTable:
        attribute = self._attributes[column]
        values = attribute.values
        if options.positive is not None:
            if values is None or len(choice.columns) > 1:
                raise InputError(
                    "--positive is for one nominal label; the labels found are: "
                    + ", ".join(self._attributes[c].name for c in choice.columns[:8]),
                    hint="Leave --positive out, or choose the label with --labels NAME.",
                )
            if options.positive not in values:
                raise InputError(
                    f"--positive {options.positive!r} is no value of {attribute.name!r}",
                    hint=f"Its values are: {', '.join(values[:12])}.",
                )
            return class_table(values, options.positive)
        if values is None:
            return _BINARY
        table = label_table(values)
        # A class of one of two words has no word that is 1 by itself; {0,1} has.
        if table is not None and (not choice.is_class or set(values) == {"0", "1"}):
            return table
        if not choice.is_class or len(values) != 2:
            raise DataFileError.at(
                self._files[0].path,
                line=attribute.line,
                problem=f"label {attribute.name!r} has the values {{{', '.join(values[:6])}}}",
                expected="{0,1}, {FALSE,TRUE} or {NO,YES}",
                hint="Choose the class that counts as 1 with --positive."
                if choice.is_class
                else "Give the label attributes with --labels or --xml.",
            )
        counts, _ = self._count_values([column])
        rarer = 0 if counts[column][0] < counts[column][1] else 1
        notes.append(
            f"label {attribute.name!r}: {values[rarer]!r}, the less frequent value, counts as 1 "
            "(--positive chooses)"
        )
        return class_table(values, values[rarer])

    def _make_header(
        self,
        path: Path,
        test: Path | None,
        options: ReadOptions,
        choice: LabelChoice,
        notes: tuple[str, ...],
    ) -> TableHeader:
        features = self._roles.features.tolist()
        tables = [self._tables[column] for column in features]
        sources = [SourceFile(name=path.name, sha256=file_digest(path), format="arff")]
        if test is not None:
            sources.append(
                SourceFile(name=test.name, sha256=file_digest(test), format="arff", role="test")
            )
        if choice.xml is not None:
            digest = file_digest(choice.xml)
            sources.append(
                SourceFile(name=choice.xml.name, sha256=digest, format="mulan-xml", role="labels")
            )
        default = self._defaults(self._files[0])[features]
        return TableHeader(
            name=options.name or stem_of(path),
            feature_names=tuple(self._attributes[column].name for column in features),
            label_names=tuple(self._attributes[column].name for column in choice.columns),
            feature_kind=np.array([NOMINAL * (t is not None) for t in tables], dtype=np.uint8),
            categories={i: t.categories for i, t in enumerate(tables) if t is not None},
            # Sparse rows of mostly non-zero defaults ({YES,NO}) would be denser than dense ones.
            is_sparse=self._files[0].declared.is_sparse
            and 2 * int(np.count_nonzero(default)) <= len(default),
            source=tuple(sources),
            notes=notes,
        )


def _open_files(path: Path, test: Path | None) -> list[_File]:
    files: list[_File] = []
    for each in (path, test):
        if each is None:
            continue
        check_file(each)
        declared = read_declarations(each)
        names = [attribute.name for attribute in declared.attributes]
        if files:
            target = _matched(files[0], each, names)
            split = SPLIT_TEST
        else:
            target = np.arange(len(names))
            split = SPLIT_NONE if test is None else SPLIT_TRAIN
        files.append(_File(each, declared, target, split))
    return files


def _matched(first: _File, path: Path, names: Sequence[str]) -> IntArray:
    """Column of the table for each attribute of the second file, by name."""
    column_of = {a.name: column for column, a in enumerate(first.declared.attributes)}
    only_here = [name for name in names if name not in column_of]
    only_there = set(column_of) - set(names)
    if only_here or only_there:
        name = only_here[0] if only_here else min(only_there, key=column_of.__getitem__)
        has, lacks = (path, first.path) if only_here else (first.path, path)
        raise DataFileError.at(
            path,
            problem=f"attribute {name!r} is in {has.name}, but not in {lacks.name}",
            expected="the same attributes in the training and the test file",
            hint="Remove it from the one file, or add it to the other.",
        )
    return np.array([column_of[name] for name in names], dtype=np.int64)


def _united(files: Sequence[_File]) -> list[Attribute]:
    """Attributes of the table; nominal domains are united over the files."""
    attributes = list(files[0].declared.attributes)
    for file in files[1:]:
        for own, column in zip(file.declared.attributes, file.target.tolist(), strict=True):
            held = attributes[column]
            if held.values == own.values:
                continue
            if held.values is None or own.values is None:
                raise DataFileError.at(
                    file.path,
                    line=own.line,
                    problem=f"attribute {own.name!r} is numeric in one file, nominal in the other",
                    expected="the same type in the training and the test file",
                )
            attributes[column] = Attribute(held.name, union(held.values, own.values), held.line)
    return attributes
