r"""The declarations of an ARFF file: relation, attributes, where the rows begin.

Names are kept as they stand: unquoted with any odd character (``TAG_dise\~no`` has a literal
backslash), or quoted with backslash escapes. Types are ``numeric``, ``real`` and ``integer`` (a
range such as ``[1,10]`` may follow) and ``{nominal, values}``; anything else is refused by line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.textfile import Block, empty_file, line_blocks


@dataclass(frozen=True, slots=True)
class Attribute:
    """One declared column.

    Parameters
    ----------
    name
        As the file has it, unquoted.
    values
        Declared values of a nominal attribute, None of a numeric one.
    line
        Where it is declared, 1-based; 0 where the format has no declarations.
    """

    name: str
    values: tuple[str, ...] | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Declarations:
    """All that stands before the rows.

    Parameters
    ----------
    relation
        Text after ``@relation``, unquoted.
    attributes
        In file order, names unique.
    data_line
        1-based number of the line after ``@data``.
    is_sparse
        Whether the first row is ``{index value,...}``.
    """

    relation: str
    attributes: tuple[Attribute, ...]
    data_line: int
    is_sparse: bool = False


_SINGLE: Final = rb"'((?:[^'\\]|\\.)*)'"
_DOUBLE: Final = rb'"((?:[^"\\]|\\.)*)"'
_DECLARATION: Final = re.compile(
    rb"@attribute[ \t]+(?:" + _SINGLE + rb"|" + _DOUBLE + rb"|([^\s'\"{%][^\s{]*))[ \t]*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_RELATION: Final = re.compile(
    rb"@relation(?:[ \t]+(?:" + _SINGLE + rb"|" + _DOUBLE + rb"|(.*)))?", re.IGNORECASE | re.DOTALL
)
_QUOTED: Final = re.compile(rb"\s*(?:" + _SINGLE + rb"|" + _DOUBLE + rb")\s*", re.DOTALL)
_DOMAIN_END: Final = re.compile(rb"[,}]")
_NUMERIC: Final = re.compile(
    rb"(?:numeric|real|integer)\s*+(?:\[[^\]]*\]\s*+)?(?:%.*)?", re.I | re.S
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "%": "%"}
_REFUSED: Final = {
    "string": "text has no order and no finite domain that a selection could use",
    "date": "dates have no rule here; write them as numbers",
    "relational": "bags of rows inside a row have no rule here",
}


def read_declarations(path: Path) -> Declarations:
    """Read the head of an ARFF file.

    Parameters
    ----------
    path
        Plain, gzip or bzip2 file.

    Raises
    ------
    DataFileError
        Not an ARFF file, an attribute of a refused type, a name or value declared twice, no
        ``@data``.
    """
    head = _Head(path)
    lines = (numbered for block in line_blocks(path) for numbered in _lines(block))
    for number, line in lines:
        if head.take(number, line):
            _, first_row = next(lines, (0, b""))
            return head.finish(number + 1, is_sparse=first_row.lstrip().startswith(b"{"))
    if not head.seen:
        raise empty_file(path)
    raise DataFileError.at(
        path,
        problem="the file ends before the line @data",
        expected="@data and rows after the attributes",
        hint="The file is truncated: copy or download it again.",
    )


def unescape(text: str) -> str:
    r"""Inner text of a quoted ARFF string; a backslash before an ordinary character stays.

    Examples
    --------
    >>> print(unescape(r"Swainson\'s \~ \u0041"))
    Swainson's \~ A
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    if match[1]:
        # Half of a surrogate pair is no character: it stays as it is written.
        code = int(match[1], 16)
        return match[0] if 0xD800 <= code < 0xE000 else chr(code)
    return _ESCAPED.get(match[2], match[0])


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        text = line.lstrip()
        if text and not text.startswith(b"%"):
            yield number, line.rstrip()


class _Head:
    """The declarations read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.relation = ""
        self.attributes: list[Attribute] = []
        self.lines_by_name: dict[str, int] = {}
        self.domains: dict[bytes, tuple[str, ...]] = {}
        self.seen = False
        self.indent = 0

    def take(self, number: int, whole_line: bytes) -> bool:
        """Take in one line; true if it is ``@data``."""
        line = whole_line.lstrip()
        self.indent = len(whole_line) - len(line)
        if b"\r" in line:
            raise self.error(
                number,
                "a carriage return inside a line",
                column=whole_line.index(b"\r") + 1,
                expected="lines that end in LF or CRLF",
                hint="Convert the line ends, for example: tr '\\r' '\\n' < OLD > NEW.",
            )
        word = line[:10].lower()
        if word == b"@attribute":
            self.attribute(number, line)
        elif word.startswith(b"@relation"):
            match = _RELATION.match(line)
            parts = match.groups() if match else ()
            self.relation = unescape(
                self.text(number, next((part for part in parts if part is not None), b"").strip())
            )
        elif word.startswith(b"@data") and not line[5:].split(b"%")[0].strip():
            return True
        else:
            self.refuse_line(number, line)
        self.seen = True
        return False

    def attribute(self, number: int, line: bytes) -> None:
        match = _DECLARATION.fullmatch(line)
        if match is None:
            raise self.error(
                number,
                f"cannot read the attribute's name in {_shown(line)}",
                expected="@attribute NAME TYPE, a name with blanks in quotes",
            )
        single, double, bare, kind = match.groups()
        if bare is not None:
            name = self.text(number, bare)
        else:
            name = unescape(self.text(number, single if single is not None else double))
        if name in self.lines_by_name:
            raise self.error(
                number,
                f"attribute {name!r} is declared twice, first on line {self.lines_by_name[name]}",
                expected="unique names",
                hint="Rename one of the two.",
            )
        self.lines_by_name[name] = number
        self.attributes.append(Attribute(name, self.values(number, name, kind, line), number))

    def values(self, number: int, name: str, kind: bytes, line: bytes) -> tuple[str, ...] | None:
        if _NUMERIC.fullmatch(kind):
            return None
        if kind.startswith(b"{"):
            if kind not in self.domains:
                self.domains[kind] = self.domain(number, name, kind)
            return self.domains[kind]
        word = kind.split()[0].decode("utf-8", "backslashreplace") if kind else ""
        reason = _REFUSED.get(word.lower())
        problem = (
            f"attribute {name!r} is of type {word.lower()}: {reason}"
            if reason
            else f"attribute {name!r} has no type that is known: {_shown(kind)}"
        )
        raise self.error(
            number,
            problem,
            column=self.indent + len(line) - len(kind) + 1,
            expected="numeric, real, integer or {nominal, values}",
            hint="Remove the attribute from the file, or convert it." if reason else None,
        )

    def domain(self, number: int, name: str, kind: bytes) -> tuple[str, ...]:
        values = self.domain_values(number, name, kind)
        if len(set(values)) < len(values):
            twice, _ = Counter(values).most_common(1)[0]
            raise self.error(
                number,
                f"attribute {name!r} declares the value {twice!r} twice",
                expected="unique values",
            )
        return values

    def domain_values(self, number: int, name: str, kind: bytes) -> tuple[str, ...]:
        if b"'" not in kind and b'"' not in kind:
            inner, brace, rest = kind[1:].partition(b"}")
            parts = [part.strip() for part in inner.split(b",")]
            if brace and all(parts) and (not rest.strip() or rest.strip().startswith(b"%")):
                return tuple(self.text(number, part) for part in parts)
        return self.quoted_domain(number, name, kind)

    def quoted_domain(self, number: int, name: str, kind: bytes) -> tuple[str, ...]:
        values: list[str] = []
        at = 1
        while True:
            match = _QUOTED.match(kind, at)
            if match is not None and kind[match.end() : match.end() + 1] in (b",", b"}"):
                inner = match[1] if match[1] is not None else match[2]
                values.append(unescape(self.text(number, inner)))
                at = match.end()
            else:
                end = _DOMAIN_END.search(kind, at)
                text = kind[at : end.start()].strip() if end else b""
                if end is None or not text or text[:1] in b"'\"{":
                    raise self.error(
                        number,
                        f"the values of attribute {name!r} cannot be read from {_shown(kind[at:])}",
                        expected="{value, 'a value with blanks', ...}",
                    )
                values.append(self.text(number, text))
                at = end.start()
            at += 1
            if kind[at - 1 : at] == b"}":
                break
        rest = kind[at:].strip()
        if rest and not rest.startswith(b"%"):
            raise self.error(
                number,
                f"text after the values of attribute {name!r}: {_shown(rest)}",
                expected="nothing after }",
            )
        return tuple(values)

    def refuse_line(self, number: int, line: bytes) -> None:
        if not self.seen and not line.startswith(b"@"):
            raise self.error(
                number,
                f"not an ARFF file, it begins with {_shown(line)}",
                expected="@relation, @attribute or a % comment",
                hint="Give --format if the name's ending does not tell the format.",
            )
        raise self.error(
            number,
            f"cannot read {_shown(line)}",
            expected="@attribute NAME TYPE or @data",
        )

    def finish(self, data_line: int, *, is_sparse: bool) -> Declarations:
        if not self.attributes:
            raise self.error(data_line - 1, "no attribute is declared", expected="@attribute lines")
        return Declarations(self.relation, tuple(self.attributes), data_line, is_sparse)

    def text(self, number: int, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.error(
                number,
                f"{_shown(data)} is not UTF-8",
                expected="text in UTF-8",
                hint="Re-encode the file, for example: iconv -f latin1 -t utf-8 OLD > NEW.",
            ) from error

    def error(
        self,
        line: int,
        problem: str,
        *,
        column: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> DataFileError:
        return DataFileError.at(
            self.path, line=line, column=column, problem=problem, expected=expected, hint=hint
        )


def _shown(data: bytes) -> str:
    text = data[:60].decode("utf-8", "backslashreplace")
    return repr(text) if len(data) <= 60 else repr(text) + "..."
