"""Which attributes of an ARFF file are the labels.

In this order: the names or number given; the XML given; the XML with exactly the file's stem (then
without -sparse, -train, -test); an XML whose stem differs only in case, or the only XML in the
folder, if all its names are attributes; ``-C n`` of the relation; an attribute named class (any
case); the last nominal attribute. An XML that applies beats ``-C``, since stale ``-C`` are about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.arff_header import Declarations
from mlfs_dask.storage.readers.mulan_xml import read_label_tree
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.wording import counted

_MEKA_COUNT = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,9})(?=\s|$)")
_MEKA_SPLIT = re.compile(r"(?:^|[\s:])-split-number\s+([0-9]{1,9})(?=\s|$)")
_PACKINGS = (".gz", ".bz2")
_PARTS = ("-sparse", "-train", "-test")


@dataclass(frozen=True)
class LabelChoice:
    """The labels of a table.

    Parameters
    ----------
    columns
        Attribute positions of the labels, ascending.
    is_class
        The one label is a class attribute, whose positive value has to be chosen.
    xml
        File that named them.
    notes
        What the user should know of how they were found.
    """

    columns: tuple[int, ...]
    is_class: bool = False
    xml: Path | None = None
    notes: tuple[str, ...] = ()


def stem_of(path: Path) -> str:
    """Name of a data file without folder, packing and format.

    Examples
    --------
    >>> stem_of(Path("a/yeast-train.arff.gz"))
    'yeast-train'
    """
    name = path.name
    for packing in _PACKINGS:
        if name.lower().endswith(packing):
            name = name[: -len(packing)]
    return Path(name).stem if Path(name).suffix else name


def find_labels(path: Path, declared: Declarations, options: ReadOptions) -> LabelChoice:
    """Find the label attributes of an ARFF file.

    Parameters
    ----------
    path
        The file, for the XML files beside it.
    declared
        Its head.
    options
        ``labels``, ``known_labels``, ``xml`` and ``n_labels`` overrule what the file says.

    Raises
    ------
    InputError
        The labels given do not fit the attributes.
    DataFileError
        The XML given, or the one of the same stem, names an unknown attribute; no label is found.
    """
    names = [attribute.name for attribute in declared.attributes]
    if options.labels is not None:
        return LabelChoice(_given(path, names, options.labels))
    if options.known_labels is not None:
        known = set(options.known_labels)
        return LabelChoice(tuple(c for c, name in enumerate(names) if name in known))
    if options.xml is not None:
        return _by_xml(options.xml, names, path, ())
    notes: list[str] = []
    beside = _xml_beside(path, names, notes)
    if beside is not None:
        return beside
    count = options.n_labels
    if count is None:
        found = _MEKA_COUNT.search(declared.relation)
        count = int(found[1]) if found else None
    if count:
        return LabelChoice(_counted(path, names, count, "-C"), notes=tuple(notes))
    return _class_attribute(path, declared, notes)


def training_rows(declared: Declarations) -> int | None:
    """``-split-number`` of a MEKA relation: the first so many rows are for training."""
    found = _MEKA_SPLIT.search(declared.relation)
    return (int(found[1]) or None) if found else None


def _given(path: Path, names: Sequence[str], labels: tuple[str, ...] | int) -> tuple[int, ...]:
    if isinstance(labels, int):
        return _counted(path, names, -labels, "--labels")
    position = {name: column for column, name in enumerate(names)}
    unknown = [name for name in labels if name not in position]
    if unknown:
        raise InputError(
            f"--labels names {unknown[0]!r}, which is no attribute of {path}",
            hint=f"The file has {counted(len(names), 'attribute')}, among them: "
            f"{', '.join(names[:8])}.",
        )
    if len(set(labels)) < len(labels) or not labels:
        raise InputError("--labels must name at least one label, each once")
    return tuple(sorted(position[name] for name in labels))


def _counted(path: Path, names: Sequence[str], count: int, flag: str) -> tuple[int, ...]:
    """First ``count`` attributes, or the last ones if negative."""
    if count == 0 or abs(count) >= len(names):
        raise DataFileError.at(
            path,
            problem=f"{flag} says {counted(abs(count), 'label')}, the file has "
            f"{counted(len(names), 'attribute')}",
            expected="at least one label and one feature",
            hint="Give --labels with the names or the number of the labels.",
        )
    return tuple(range(count)) if count > 0 else tuple(range(len(names) + count, len(names)))


def _by_xml(xml: Path, names: Sequence[str], path: Path, notes: Sequence[str]) -> LabelChoice:
    labels = read_label_tree(xml)
    position = {name: column for column, name in enumerate(names)}
    unknown = [name for name in labels if name not in position]
    if unknown:
        raise DataFileError.at(
            xml,
            problem=f"names the label {unknown[0]!r}, which is no attribute of {path.name}",
            expected="only names of attributes",
            hint="Give the right XML with --xml, or the labels with --labels.",
        )
    if len(labels) == len(names):
        raise DataFileError.at(xml, problem="names every attribute", expected="some features left")
    nested = [name for name, parent in labels.items() if parent is not None]
    if nested:
        notes = [
            *notes,
            f"{xml.name} nests labels (first {nested[0]!r} in {labels[nested[0]]!r}): "
            "all are read, their hierarchy is not kept",
        ]
    columns = tuple(sorted(position[name] for name in labels))
    return LabelChoice(columns, xml=xml, notes=tuple(notes))


def _xml_beside(path: Path, names: Sequence[str], notes: list[str]) -> LabelChoice | None:
    stem = stem_of(path)
    exact = path.parent / f"{stem}.xml"
    if exact.is_file():
        return _by_xml(exact, names, path, ())
    for candidate in _other_xml(path, stem):
        try:
            unknown = set(read_label_tree(candidate)) - set(names)
        except DataFileError as error:
            notes.append(f"an XML beside the file was passed over: {error.message}")
            continue
        if not unknown:
            return _by_xml(candidate, names, path, notes)
        notes.append(
            f"{candidate.name} lies beside the file but names {min(unknown)!r}, which is no "
            "attribute: passed over"
        )
    return None


def _other_xml(path: Path, stem: str) -> list[Path]:
    """XML files that apply if all their names are attributes, the likeliest first."""
    found: list[Path] = []
    shorter = stem
    while (cut := next((s for s in _PARTS if shorter.endswith(s)), None)) is not None:
        shorter = shorter.removesuffix(cut)
        found.append(path.parent / f"{shorter}.xml")
    try:
        present = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".xml")
    except OSError:
        present = []
    stems = {stem.lower(), shorter.lower()}
    found += [p for p in present if p.stem.lower() in stems]
    if len(present) == 1:
        found += present
    return [p for p in dict.fromkeys(found) if p.is_file()]


def _class_attribute(path: Path, declared: Declarations, notes: list[str]) -> LabelChoice:
    nominal = [c for c, a in enumerate(declared.attributes) if a.values is not None]
    named = [c for c, a in enumerate(declared.attributes) if a.name.lower() == "class"]
    chosen = named[-1] if named else (nominal[-1] if nominal else None)
    if chosen is None or len(declared.attributes) < 2:
        raise DataFileError.at(
            path,
            problem="nothing tells which attributes are the labels",
            expected="an XML of the same name, -C n in the relation, or a class attribute",
            hint="Give --labels with their names or number, or --xml FILE.",
        )
    attribute = declared.attributes[chosen]
    if attribute.values is None:
        raise DataFileError.at(
            path,
            line=attribute.line,
            problem=f"the class attribute {attribute.name!r} is numeric",
            expected="a nominal class",
            hint="Give --labels with the names or the number of the labels.",
        )
    if not named:
        notes.append(f"the last nominal attribute {attribute.name!r} was taken as the label")
    return LabelChoice((chosen,), is_class=True, notes=tuple(notes))
