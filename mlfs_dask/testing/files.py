r"""Hypothesis strategies for ARFF files as they are met, with the table each must be read as.

Needs hypothesis installed. What a file is drawn from (names, domains, cells) is kept beside its
text, so that a test compares a reader with the drawing, not with another reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from xml.sax.saxutils import quoteattr

import numpy as np
from hypothesis import strategies as st

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.testing.strategies import NASTY_NAMES

Cell: TypeAlias = float | str | None
"""A number, a nominal value, or None where it is missing."""

_TRUE: Final = ("1", "yes", "y", "true", "t", "present", "pos")
_DOMAINS: Final = (
    ("0", "1"),
    ("1", "0"),
    ("YES", "NO"),
    ("no", "Yes"),
    ("a", "b"),
    ("t", "pos"),
    ("only one",),
    ("3", "1", "2"),
    ("-1", "0", "1"),
    ("it's", 'say "so"', "b,c", "{d}", "100%", "back\\slash"),
    ("?", "x"),
    ("标签", "ß", " padded "),
    ("300", "7"),
)
_LABEL_DOMAINS: Final = (None, ("0", "1"), ("1", "0"), ("FALSE", "TRUE"), ("No", "YES"))
_SPELLINGS: Final[tuple[Callable[[float], str], ...]] = (
    repr,
    lambda value: f"{value:.17g}",
    lambda value: f"{value:+.17e}",
    lambda value: f"{value:.25f}",
    lambda value: str(int(value)) if value == int(value) else repr(value),
    lambda value: f"{int(value)}." if value == int(value) else repr(value),
    lambda value: "0" + repr(value) if value > 0 else repr(value),
)


@dataclass(frozen=True)
class ArffColumn:
    """A drawn attribute.

    Parameters
    ----------
    name
        Any text.
    domain
        Declared values; None of a numeric attribute.
    is_label
        Whether it is a label.
    cells
        One for each row.
    """

    name: str
    domain: tuple[str, ...] | None
    is_label: bool
    cells: tuple[Cell, ...]

    def codes(self) -> list[float]:
        """What the cells are stored as."""
        return [math.nan if cell is None else self.code(cell) for cell in self.cells]

    def code(self, cell: float | str) -> float:
        """Stored value of one cell, by the rule for nominal values."""
        if self.domain is None:
            return float(cell)
        value = str(cell)
        true = [v for v in self.domain if v.lower() in _TRUE]
        if len(self.domain) == 2 and len(true) == 1:
            return float(value == true[0])
        return float(self.domain.index(value))

    @property
    def omitted(self) -> float | str:
        """What an omitted cell of a sparse row means."""
        return 0.0 if self.domain is None else self.domain[0]


@dataclass(frozen=True)
class ArffFile:
    """A drawn file.

    Parameters
    ----------
    columns
        In file order.
    text
        Content of the ARFF file.
    xml
        Content of the Mulan XML; None where the relation holds ``-C``.
    is_sparse
        Whether rows are ``{index value,...}``.
    """

    columns: tuple[ArffColumn, ...]
    text: bytes
    xml: bytes | None
    is_sparse: bool

    @property
    def features(self) -> tuple[ArffColumn, ...]:
        """The columns that are features."""
        return tuple(column for column in self.columns if not column.is_label)

    @property
    def labels(self) -> tuple[ArffColumn, ...]:
        """The columns that are labels."""
        return tuple(column for column in self.columns if column.is_label)

    @property
    def X(self) -> FloatArray:
        """Features as they must be read, shape (n, d); NaN is missing."""
        return np.array([column.codes() for column in self.features], dtype=np.float64).T

    @property
    def Y(self) -> ByteArray:
        """Labels as they must be read, shape (n, q)."""
        return np.array([column.codes() for column in self.labels]).T.astype(np.uint8)


@dataclass(frozen=True)
class ArffStyle:
    """How a writer spells what it writes.

    Parameters
    ----------
    quote_all
        Names and values are quoted though they need not be.
    double
        Quotes are ``"``.
    gaps
        Blanks and tabs around names, types, commas and braces.
    comments
        Comment and empty lines between all others.
    upper
        Keywords in capitals.
    crlf, bom, final_newline
        Line ends and the first bytes.
    spelling
        Of numbers, an index of the spellings known.
    state_omitted
        Sparse rows state what they could omit.
    """

    quote_all: bool = False
    double: bool = False
    gaps: bool = False
    comments: bool = False
    upper: bool = False
    crlf: bool = False
    bom: bool = False
    final_newline: bool = True
    spelling: int = 0
    state_omitted: bool = False

    def token(self, text: str) -> str:
        """A name or value, quoted where it must be."""
        plain = text and text != "?" and not any(c.isspace() or c in "'\"{},%@\\" for c in text)
        if plain and not self.quote_all and text.isprintable():
            return text
        quote = '"' if self.double else "'"
        body = "".join("\\" + c if c in "\\'\"" else c for c in text)
        return quote + body + quote

    def number(self, value: float) -> str:
        """One of the spellings of a number that read back to the same float64."""
        return _SPELLINGS[self.spelling % len(_SPELLINGS)](value)

    def cell(self, cell: Cell) -> str:
        """Text of a cell."""
        if cell is None:
            return "?"
        return self.token(cell) if isinstance(cell, str) else self.number(cell)

    def type_of(self, column: ArffColumn) -> str:
        """Type of an attribute's declaration."""
        if column.domain is None:
            return "REAL" if self.upper else "numeric"
        gap = " " if self.gaps else ""
        values = f"{gap},{gap}".join(self.token(value) for value in column.domain)
        return f"{{{gap}{values}{gap}}}"

    def lines(self, relation: str, columns: Sequence[ArffColumn], is_sparse: bool) -> list[str]:
        """All lines of the file."""
        gap = " \t " if self.gaps else " "
        words = ["@relation", "@attribute", "@data"]
        if self.upper:
            words = [word.upper() for word in words]
        lines = [f"{words[0]}{gap}'{relation}'"]
        lines += [
            f"{words[1]}{gap}{self.token(c.name)}{gap}{self.type_of(c)}{gap if self.gaps else ''}"
            for c in columns
        ]
        lines.append(words[2])
        write = self._sparse_row if is_sparse else self._dense_row
        return lines + [write(columns, i) for i in range(len(columns[0].cells))]

    def _dense_row(self, columns: Sequence[ArffColumn], i: int) -> str:
        comma = " ,\t" if self.gaps else ","
        return ("\t" if self.gaps else "") + comma.join(self.cell(c.cells[i]) for c in columns)

    def _sparse_row(self, columns: Sequence[ArffColumn], i: int) -> str:
        gap = " " if self.gaps else ""
        entries = [
            f"{position} {gap}{self.cell(column.cells[i])}"
            for position, column in enumerate(columns)
            if self.state_omitted or column.cells[i] != column.omitted
        ]
        return "{" + gap + f"{gap},{gap}".join(entries) + gap + "}" + gap

    def encode(self, lines: Sequence[str]) -> bytes:
        """Bytes of the file."""
        if self.comments:
            lines = [part for line in lines for part in ("% a,'comment {1 2}", line, "")]
        end = "\r\n" if self.crlf else "\n"
        text = end.join(lines) + (end if self.final_newline else "")
        return (b"\xef\xbb\xbf" if self.bom else b"") + text.encode()


def names() -> st.SearchStrategy[str]:
    """Names of attributes: plain, odd, any Unicode that XML can hold."""
    some = st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="￾￿"),
        min_size=1,
        max_size=12,
    )
    return (
        st.sampled_from(NASTY_NAMES)
        | some
        | st.from_regex(r"[a-z][a-z0-9_.~/-]{0,8}", fullmatch=True)
    )


def arff_styles() -> st.SearchStrategy[ArffStyle]:
    """Ways to write a file."""
    return st.builds(
        ArffStyle,
        *[st.booleans()] * 8,
        spelling=st.integers(0, len(_SPELLINGS) - 1),
        state_omitted=st.booleans(),
    )


@st.composite
def arff_columns(draw: st.DrawFn, *, max_rows: int = 12) -> tuple[ArffColumn, ...]:
    """Attributes of a table with at least one label and one feature, in any order.

    Parameters
    ----------
    draw
        Given by hypothesis.
    max_rows
        Bound on the rows.
    """
    n = draw(st.integers(1, max_rows))
    d, q = draw(st.tuples(st.integers(1, 5), st.integers(1, 3)))
    unique = draw(st.lists(names(), min_size=d + q, max_size=d + q, unique=True))
    is_label = draw(st.permutations([False] * d + [True] * q))
    missing = draw(st.booleans())
    return tuple(
        draw(_columns(name, label, n, missing=missing and not label))
        for name, label in zip(unique, is_label, strict=True)
    )


def _columns(name: str, label: bool, n: int, *, missing: bool) -> st.SearchStrategy[ArffColumn]:
    domains = _LABEL_DOMAINS if label else (None, None, None, *_DOMAINS)

    def cells(domain: tuple[str, ...] | None) -> st.SearchStrategy[ArffColumn]:
        kinds: list[st.SearchStrategy[Cell]] = [st.none()] if missing else []
        if domain is not None:
            kinds.append(st.sampled_from(domain))
        elif label:
            kinds.append(st.sampled_from([0.0, 1.0]))
        else:
            kinds.append(st.integers(0, 9).map(float))
            kinds.append(st.floats(-1e9, 1e9, allow_subnormal=False).filter(_short))
        lists = st.lists(st.one_of(kinds), min_size=n, max_size=n)
        return lists.map(lambda drawn: ArffColumn(name, domain, label, tuple(drawn)))

    return st.sampled_from(domains).flatmap(cells)


def _short(value: float) -> bool:
    """Whether 25 decimals give the value back; a negative zero is read as it is written."""
    return float(f"{value:.25f}") == value and math.copysign(1, value) * (value == 0) >= 0


@st.composite
def arff_files(
    draw: st.DrawFn, *, max_rows: int = 12, plain: bool = False, sparse: bool | None = None
) -> ArffFile:
    """Mulan or MEKA files, dense or sparse.

    Parameters
    ----------
    draw
        Given by hypothesis.
    max_rows
        Bound on the rows.
    plain
        Write it the plainest way, as most files are.
    sparse
        Row layout; any by default.

    Examples
    --------
    ::

        @given(arff_files())
        def test_reader(file): ...
    """
    columns = draw(arff_columns(max_rows=max_rows))
    style = ArffStyle() if plain else draw(arff_styles())
    is_sparse = draw(st.booleans()) if sparse is None else sparse
    labels = [column for column in columns if column.is_label]
    features = [column for column in columns if not column.is_label]
    form = draw(st.sampled_from(["mulan", "meka first", "meka last"]))
    xml = None
    relation = "drawn"
    if form == "mulan":
        xml = label_xml([column.name for column in draw(st.permutations(labels))])
    elif form == "meka first":
        columns, relation = (*labels, *features), f"drawn: -C {len(labels)}"
    else:
        columns, relation = (*features, *labels), f"drawn: -C -{len(labels)}"
    text = style.encode(style.lines(relation, columns, is_sparse))
    return ArffFile(tuple(columns), text, xml, is_sparse)


def label_xml(label_names: Sequence[str]) -> bytes:
    """A Mulan XML.

    Parameters
    ----------
    label_names
        In the order wanted.

    Examples
    --------
    >>> print(label_xml(["a", "b & c"]).decode())
    <?xml version="1.0" encoding="utf-8"?>
    <labels xmlns="http://mulan.sourceforge.net/labels">
    <label name="a"></label>
    <label name="b &amp; c"></label>
    </labels>
    <BLANKLINE>
    """
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append('<labels xmlns="http://mulan.sourceforge.net/labels">')
    lines += [f"<label name={quoteattr(name)}></label>" for name in label_names]
    return "\n".join([*lines, "</labels>", ""]).encode()
