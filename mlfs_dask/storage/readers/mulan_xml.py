"""The XML file that names the labels of a Mulan data set.

Parsed by expat with everything refused that could reach beyond the file or grow inside it: document
types, entities, external references.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.textfile import check_file, read_whole

_MAX_BYTES = 64 * 1024 * 1024


def read_label_names(path: Path) -> tuple[str, ...]:
    """Names of all labels, nested ones too, in the order of the file.

    Parameters
    ----------
    path
        For example ``emotions.xml``.

    Raises
    ------
    DataFileError
        As `read_label_tree`.
    """
    return tuple(read_label_tree(path))


def read_label_tree(path: Path) -> dict[str, str | None]:
    """Names of all labels in the order of the file, each with the label it is nested in.

    Parameters
    ----------
    path
        For example ``emotions.xml``.

    Returns
    -------
    dict of str to str or None
        Name of the parent by name of the label; None at the top.

    Raises
    ------
    DataFileError
        Not well-formed, a document type or entity, no ``<label name="...">``, a name given twice.
    """
    check_file(path)
    text = read_whole(path, limit=_MAX_BYTES)
    reader = _LabelNames(path)
    reader.parse(text)
    return reader.parents


class _LabelNames:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.parents: dict[str, str | None] = {}
        self._lines: dict[str, int] = {}
        self._open: list[str | None] = []
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.ExternalEntityRefHandler = self._external

    def parse(self, text: bytes) -> None:
        try:
            self._parser.Parse(text, True)
        except DataFileError:  # our own refusal, which is a ValueError too
            raise
        except expat.ExpatError as error:
            raise DataFileError.at(
                self._path,
                line=error.lineno,
                column=error.offset + 1,
                problem=f"not well-formed XML: {expat.ErrorString(error.code)}",
                expected='<labels><label name="..."></label>...</labels>',
            ) from error
        except (ValueError, LookupError) as error:  # a multi-byte or unknown encoding
            raise self._error(f"cannot be decoded: {error}", expected="XML in UTF-8") from error
        if not self.parents:
            raise self._error("names no label", expected='<label name="..."> elements')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "labels" and not self._open:
            self._open.append(None)
            return
        if not self._open or kind != "label":
            raise self._error(
                f"element <{tag}> has no place here", expected="<label> elements inside <labels>"
            )
        name = attributes.get("name")
        if name is None:
            raise self._error("a <label> has no name", expected='<label name="...">')
        if name in self.parents:
            raise self._error(
                f"label {name!r} is named twice, first on line {self._lines[name]}",
                expected="unique names",
            )
        self.parents[name] = self._open[-1]
        self._lines[name] = self._parser.CurrentLineNumber
        self._open.append(name)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _doctype(self, *declared: object) -> None:
        raise self._error(
            "a document type declaration, which could pull in entities: refused",
            expected="plain <labels> without <!DOCTYPE>",
            hint="Remove the <!DOCTYPE ...> part from the file.",
        )

    def _entity(self, *declared: object) -> None:
        raise self._error("an entity declaration: refused", expected="plain <labels>")

    def _external(self, *declared: object) -> int:
        raise self._error("a reference to another file: refused", expected="plain <labels>")

    def _error(
        self, problem: str, *, expected: str | None = None, hint: str | None = None
    ) -> DataFileError:
        return DataFileError.at(
            self._path,
            line=self._parser.CurrentLineNumber,
            column=self._parser.CurrentColumnNumber + 1,
            problem=problem,
            expected=expected,
            hint=hint,
        )
