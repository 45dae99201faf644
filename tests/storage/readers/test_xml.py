"""The XML that names the labels: what is read, what is refused and where."""

import pytest

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.readers.mulan_xml import read_label_names, read_label_tree

NS = ' xmlns="http://mulan.sourceforge.net/labels"'


def written(folder, text):
    path = folder / "labels.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_names_in_the_order_of_the_file(tmp_path):
    text = f"""<?xml version="1.0" encoding="utf-8"?>
<!-- a comment --><labels{NS}>
<label name="b &amp; c"></label><label name="Swainson's Thrush"/><label name="ä&#x6807;"/>
</labels>"""
    assert read_label_names(written(tmp_path, text)) == ("b & c", "Swainson's Thrush", "ä标")


def test_nested_labels_are_all_read(tmp_path):
    """Depth 3; the parents are known, and a note says that the table has no hierarchy."""
    text = f"""<labels{NS}><label name="a"><label name="b"><label name="c"/></label></label>
<label name="d"/></labels>"""
    path = written(tmp_path, text)
    assert read_label_tree(path) == {"a": None, "b": "a", "c": "b", "d": None}
    head = "@relation r\n" + "".join(f"@attribute {n} {{0,1}}\n" for n in "dcbaf")
    (tmp_path / "labels.arff").write_text(head + "@data\n1,0,1,0,1\n")
    table = open_table(tmp_path / "labels.arff")
    assert table.header.label_names == ("d", "c", "b", "a")
    assert any("'b' in 'a'" in note and "hierarchy" in note for note in table.header.notes)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_that_xml_tells(tmp_path, encoding):
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    text = f'<?xml version="1.0" encoding="{declared}"?><labels><label name="é"/></labels>'
    assert read_label_names(written(tmp_path, text.encode(encoding))) == ("é",)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE bomb [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<labels><label name="&c;"/></labels>"""
EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>
<labels><label name="&secret;"/></labels>"""


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (BOMB, 2, None, "document type declaration"),
        (EXTERNAL, 2, None, "document type declaration"),
        ("<!DOCTYPE labels SYSTEM 'x.dtd'>\n<labels/>", 1, None, "document type declaration"),
        ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", 3, 1, "named twice"),
        ("<labels>\n  <label/></labels>", 2, 3, "has no name"),
        ("<labels>\n <tag name='a'/></labels>", 2, 2, "<tag> has no place"),
        ("<project>\n</project>", 1, 1, "<project> has no place"),
        ("<label name='a'/>", 1, 1, "<label> has no place"),
        ("<labels>\n<label name='a'>\n</labels>", 3, 3, "not well-formed"),
        ("<labels><label name='&undefined;'/></labels>", 1, None, "not well-formed"),
        ("<labels></labels>", None, None, "names no label"),
        ("not xml", 1, 1, "not well-formed"),
        ("<labels><label name='\x00'/></labels>", 1, None, "not well-formed"),
        (b"<labels><label name='\xff'/></labels>", 1, None, "not well-formed"),
        ("<?xml version='1.0' encoding='no-such'?><labels/>", 1, None, ""),
    ],
)
def test_refused_with_its_place_and_own_words(tmp_path, text, line, column, problem):
    path = written(tmp_path, text)
    with pytest.raises(DataFileError) as caught:
        read_label_names(path)
    error = caught.value
    assert error.facts["file"] == str(path)
    assert line is None or error.facts["line"] == line
    assert column is None or error.facts["column"] == column
    assert problem in error.message
    assert error.message.count(str(path)) == 1


def test_deep_nesting_is_read_in_one_go(tmp_path):
    depth = 20_000
    text = "<labels>" + "".join(f'<label name="{i}">' for i in range(depth))
    names = read_label_names(written(tmp_path, text + "</label>" * depth + "</labels>"))
    assert len(names) == depth


def test_packed_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mlfs_dask.storage.readers.mulan_xml._MAX_BYTES", 1000)
    with pytest.raises(DataFileError, match="more than 1,000 bytes"):
        read_label_names(written(tmp_path, "<labels>" + " " * 2000 + "</labels>"))


@pytest.mark.parametrize("content", ["", None])
def test_empty_or_directory(tmp_path, content):
    path = tmp_path / "labels.xml"
    path.mkdir() if content is None else path.write_text(content)
    with pytest.raises(DataFileError, match="directory" if content is None else "empty"):
        read_label_names(path)
