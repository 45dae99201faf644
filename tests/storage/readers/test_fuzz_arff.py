"""Damaged files of every kind: an error of ours or a table, never a traceback, never a hang."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.readers.mulan_xml import read_label_names
from mlfs_dask.testing.damage import damaged, no_hang, only_our_errors
from mlfs_dask.testing.files import arff_files, label_xml


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def read_all(path: Path, test: Path | None = None) -> None:
    """Read a table to its end, and check what a table promises."""
    with no_hang(), only_our_errors():
        table = open_table(path, test=test)
        for batch in table.batches():
            X = batch.X.data if table.header.is_sparse else batch.X
            assert batch.X.shape == (batch.n_rows, table.header.n_features)
            assert not np.isinf(X).any()
            assert batch.Y.max(initial=0) <= 1
        for name in (*table.header.feature_names, *table.header.label_names):
            name.encode()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_files(shared, data):
    file = data.draw(arff_files(max_rows=5))
    home = Path(tempfile.mkdtemp(dir=shared))
    path = home / "drawn.arff"
    path.write_bytes(data.draw(damaged(file.text)))
    if file.xml is not None:
        (home / "drawn.xml").write_bytes(file.xml)
    read_all(path)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=15)
@given(data=st.data())
def test_damaged_half_of_a_pair(shared, data):
    file = data.draw(arff_files(max_rows=5))
    home = Path(tempfile.mkdtemp(dir=shared))
    (home / "drawn.arff").write_bytes(file.text)
    (home / "half.arff").write_bytes(data.draw(damaged(file.text)))
    if file.xml is not None:
        (home / "drawn.xml").write_bytes(file.xml)
    read_all(home / "drawn.arff", home / "half.arff")


@given(
    data=st.data(), names=st.lists(st.text(st.characters(codec="ascii"), max_size=5), max_size=4)
)
def test_damaged_xml(shared, data, names):
    path = shared / "damaged.xml"
    path.write_bytes(data.draw(damaged(label_xml([n for n in names if n.isprintable()]))))
    with no_hang(), only_our_errors():
        read_label_names(path)


@given(content=st.binary(min_size=1, max_size=200))
def test_any_bytes(shared, content):
    path = shared / "any.arff"
    path.write_bytes(content)
    read_all(path)


REAL = ["emotions/emotions-test.arff", "enron/enron-test.arff", "genbase/genbase-test.arff"]
REAL += ["uci/colic.arff", "slashdot/SLASHDOT-F.arff", "birds/birds-test.arff"]


@pytest.mark.parametrize("name", REAL)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_heads_of_real_files(shared, mlfs_data, name, data):
    path = shared / f"head-{Path(name).name}"
    whole = (mlfs_data / name).read_bytes()
    rows = whole.lower().index(b"@data")
    head = data.draw(damaged(whole[:rows]))
    path.write_bytes(head + whole[rows : rows + 3000])
    for xml in (mlfs_data / name).parent.glob("*.xml"):
        path.with_suffix(".xml").write_bytes(xml.read_bytes())
    read_all(path)


class TestLinearTime:
    """Texts on which a backtracking parser never ends."""

    HEAD = "@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute f numeric\n@data\n"
    N = 200_000

    @pytest.mark.parametrize(
        "text",
        [
            HEAD + "0," + " " * N + "'x\n",
            HEAD + "0," + "\t " * N + '"\n',
            HEAD + "0,'" + "a\\" * N + "\n",
            HEAD + "{0" + " " * N + "}\n",
            HEAD + "{0 1" + " " * N + "x}\n",
            HEAD + "{" * N + "}" * N + "\n",
            HEAD + "0," + "9" * N + "\n",
            HEAD + "{" + "9" * N + " 1}\n",
            HEAD + "," * N + "\n",
            "@relation '" + "\\" * (N + 1) + "\n@attribute",
            "@relation " + "-C " * N + "\n@attribute f numeric\n@data\n1\n",
            "@attribute f numeric" + " " * N + "x\n",
            "@attribute f integer [" + "1" * N + "\n",
            "@attribute f {" + " " * N + "'\n",
            "@attribute f {" + "a," * N + "\n",
            "@attribute f {" + "'a'," * N + "\n",
            "@attribute f {" + "'a' " * N + "}\n",
            "@attribute '" + "\\'" * N + "\n",
            "@attribute " + "f{" * N + "\n",
            "%\n" * N,
            "\n" * N,
            "\r" * N,
            "@data\n" * N,
        ],
        ids=range(23),
    )
    def test_hostile_text(self, tmp_path, text):
        path = tmp_path / "hostile.arff"
        path.write_text(text)
        read_all(path)

    def test_many_levels(self, tmp_path):
        """250,000 levels of 30 characters, quoted and not."""
        for quote in ("", "'"):
            levels = ",".join(f"{quote}{i:030d}x{quote}" for i in range(250_000))
            path = tmp_path / "levels.arff"
            rows = "".join(f"0,{quote}{i:030d}x{quote}\n" for i in range(0, 250_000, 997))
            head = self.HEAD.replace("f numeric", f"f {{{levels}}}")
            path.write_text(head + rows + "1,?\n" * 100)
            with no_hang():
                batch = next(iter(open_table(path).batches()))
            assert batch.X[:3, 0].tolist() == [0, 997, 1994]
