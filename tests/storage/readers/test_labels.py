"""The order in which the labels of an ARFF file are looked for."""

from pathlib import Path

import numpy as np
import pytest

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.files import label_xml

NAMES = ("a", "b", "c", "d", "e")


def made(folder, *, name="set.arff", relation="r", kinds=None, xml=None, **options):
    kinds = kinds or {}
    head = f"@relation '{relation}'\n"
    head += "".join(f"@attribute {n} {kinds.get(n, '{0,1}')}\n" for n in NAMES)
    (folder / name).write_text(head + "@data\n0,1,0,1,0\n1,0,1,0,1\n0,0,0,0,1\n")
    for file, labels in (xml or {}).items():
        (folder / file).write_bytes(labels if isinstance(labels, bytes) else label_xml(labels))
    return open_table(folder / name, options=ReadOptions(**options))


def labels_of(*args, **kwargs):
    return "".join(made(*args, **kwargs).header.label_names)


def test_given_names_come_first_in_the_order_of_the_attributes(tmp_path):
    found = labels_of(tmp_path, xml={"set.xml": ["a"]}, relation="r: -C 2", labels=("d", "b"))
    assert found == "bd"


def test_given_number_is_of_the_last_columns(tmp_path):
    assert labels_of(tmp_path, labels=2) == "de"
    assert labels_of(tmp_path, labels=-2) == "ab"


def test_flag_of_meka_beats_the_relation(tmp_path):
    assert labels_of(tmp_path, relation="r: -C 1", n_labels=-2) == "de"


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("Music: -C 2", "ab"),
        ("-C 2", "ab"),
        ("x: -C -2", "de"),
        ("x: -R -C 3 -split-number 2", "abc"),
        ("x:-C 3", "abc"),
        ("x -split 6965 -C  1 -I 0", "a"),
    ],
)
def test_counts_in_the_relation(tmp_path, relation, labels):
    """MEKA's -C n, first labels or (negative) last, among other flags."""
    assert labels_of(tmp_path, relation=relation) == labels


@pytest.mark.parametrize("relation", ["x-C 2", "x: -Clever 2", "x: -c 2", "x: -C two", "x: -C 0"])
def test_what_only_looks_like_a_count(tmp_path, relation):
    table = made(tmp_path, relation=relation)
    assert table.header.label_names == ("e",)
    assert "last nominal attribute 'e'" in table.header.notes[0]


def test_xml_of_the_stem_beats_a_stale_count(tmp_path):
    assert labels_of(tmp_path, xml={"set.xml": ["c", "b"]}, relation="r: -C 4") == "bc"


@pytest.mark.parametrize(
    "name", ["set-train.arff", "set-test.arff", "set-sparse.arff", "set-train-sparse.arff"]
)
def test_stem_without_parts(tmp_path, name):
    assert labels_of(tmp_path, name=name, xml={"set.xml": ["b"], "zzz.xml": ["c"]}) == "b"


def test_exact_stem_before_the_shorter_one(tmp_path):
    xml = {"set.xml": ["b"], "set-train.xml": ["c"]}
    assert labels_of(tmp_path, name="set-train.arff", xml=xml) == "c"


def test_stem_of_other_case(tmp_path):
    assert labels_of(tmp_path, name="SET.arff", xml={"set.xml": ["b"], "x.xml": ["c"]}) == "b"


def test_only_xml_of_the_folder(tmp_path):
    assert labels_of(tmp_path, xml={"labels.xml": ["d"]}) == "d"


def test_one_of_several_strangers_is_not_taken(tmp_path):
    assert labels_of(tmp_path, xml={"p.xml": ["a"], "q.xml": ["b"]}, relation="r: -C 3") == "abc"


@pytest.mark.parametrize("content", [["d", "nope"], b"<project/>", b"not xml", b"<!DOCTYPE x>"])
def test_stranger_that_does_not_apply_is_passed_over_with_a_note(tmp_path, content):
    table = made(tmp_path, xml={"pom.xml": content}, relation="r: -C 3")
    assert table.header.label_names == ("a", "b", "c")
    assert "pom.xml" in table.header.notes[0]
    assert "passed over" in table.header.notes[0]


@pytest.mark.parametrize("by_flag", [False, True])
def test_unknown_label_in_the_xml_that_must_apply(tmp_path, by_flag):
    made(tmp_path)
    path = tmp_path / ("given.xml" if by_flag else "set.xml")
    path.write_bytes(label_xml(["a", "unknown"]))
    options = ReadOptions(xml=path if by_flag else None)
    with pytest.raises(DataFileError, match="names the label 'unknown'") as caught:
        open_table(tmp_path / "set.arff", options=options)
    assert caught.value.facts["file"] == str(path)
    assert "--xml" in caught.value.hint


def test_given_xml_of_any_name(tmp_path):
    made(tmp_path)
    (tmp_path / "set.xml").write_bytes(label_xml(["a"]))
    (tmp_path / "given.xml").write_bytes(label_xml(["e", "d"]))
    table = open_table(tmp_path / "set.arff", options=ReadOptions(xml=tmp_path / "given.xml"))
    assert table.header.label_names == ("d", "e")


def test_xml_that_leaves_no_feature(tmp_path):
    with pytest.raises(DataFileError, match="names every attribute"):
        made(tmp_path, xml={"set.xml": NAMES})


@pytest.mark.parametrize("word", ["class", "Class", "CLASS"])
def test_class_attribute_of_any_case_and_place(tmp_path, word):
    text = f"@relation r\n@attribute {word} {{x,y}}\n@attribute f real\n@attribute g {{p,q}}\n"
    (tmp_path / "c.arff").write_text(text + "@data\nx,1,p\nx,1,q\ny,1,p\n")
    table = open_table(tmp_path / "c.arff")
    assert table.header.label_names == (word,)
    Y = np.vstack([b.Y for b in table.batches()])
    assert Y.tolist() == [[0], [0], [1]]
    assert "'y', the less frequent" in table.header.notes[0]


def test_positive_class_chosen_among_several(tmp_path):
    text = "@relation r\n@attribute f real\n@attribute class {x,y,z}\n@data\n1,x\n2,y\n3,z\n4,y\n"
    (tmp_path / "c.arff").write_text(text)
    with pytest.raises(DataFileError, match=r"values \{x, y, z\}") as caught:
        open_table(tmp_path / "c.arff")
    assert "--positive" in caught.value.hint
    table = open_table(tmp_path / "c.arff", options=ReadOptions(positive="y"))
    assert np.vstack([b.Y for b in table.batches()])[:, 0].tolist() == [0, 1, 0, 1]


def test_equal_counts_take_the_second_declared(tmp_path):
    text = "@relation r\n@attribute f real\n@attribute class {x,y}\n@data\n1,x\n2,y\n"
    (tmp_path / "c.arff").write_text(text)
    table = open_table(tmp_path / "c.arff")
    assert np.vstack([b.Y for b in table.batches()])[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a.arff", "a"), ("A.B.arff.gz", "A.B"), ("x.ARFF.BZ2", "x"), ("noending", "noending")],
)
def test_stems(name, stem):
    assert stem_of(Path("folder") / name) == stem
