"""Parsing ARFF files against liac-arff, and the memory of ingesting big ones."""

import bz2
import gzip
import io
import os
import sys
from pathlib import Path

import arff
import numpy as np
import pytest

from benchmarks.side_by_side import SideBySide, faster
from mlfs_dask.storage.readers import open_table

FILES = {
    "yeast": "yeast/yeast.arff.gz",
    "genbase": "genbase/genbase.arff.gz",
    "bibtex": "bibtex/bibtex.arff.gz",
    "tmc2007-500-train": "tmc2007-500/tmc2007-500-train.arff.gz",
}


def _small(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    lines = ["@relation 'small: -C 2'", "@attribute l1 {0,1}", "@attribute l2 {0,1}"]
    lines += [f"@attribute f{j} numeric" for j in range(5)] + ["@data"]
    for row in rng.random((20, 5)):
        labels = f"{int(row[0] > 0.5)},{int(row[1] > 0.5)}"
        lines.append(labels + "," + ",".join(repr(float(v)) for v in row))
    path = folder / "small.arff"
    path.write_text("\n".join(lines))
    return path


def _unpacked(path: Path) -> io.TextIOBase:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".bz2":
        return bz2.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _liac(path: Path):
    """The library's own fast settings for each row layout."""
    with _unpacked(path) as file:
        text = file.read()
    rows = text[text.lower().index("@data") :].split("\n", 2)[1].strip()
    layout = arff.LOD if rows.startswith("{") else arff.DENSE
    return len(arff.loads(text, encode_nominal=True, return_type=layout)["data"])


def _ours(path: Path):
    return sum(len(batch.Y) for batch in open_table(path).batches())


@pytest.mark.parametrize("name", list(FILES))
def test_parsing_against_liac_arff(side_by_side: SideBySide, name, tmp_path) -> None:
    if side_by_side.full:
        path = Path(os.environ["MLFS_DATA"]) / FILES[name]
        path = path if path.exists() else path.with_suffix("")
    else:
        path = _small(tmp_path)

    def same(ours, theirs):
        assert ours == theirs

    side_by_side.compare(
        f"parse {name}, no store written",
        ours=lambda: _ours(path),
        peers={"liac-arff load": lambda: _liac(path)},
        bounds={"liac-arff load": faster(4)},
        agree={"liac-arff load": same},
        repeats=3,
    )


@pytest.mark.parametrize(
    ("name", "file"), [("imdb", "imdb/Imdb.arff.bz2"), ("yahoo-science", "yahoo-science.arff.gz")]
)
def test_memory_of_an_ingest(side_by_side: SideBySide, name, file, tmp_path) -> None:
    if side_by_side.full:
        folder = Path(os.environ["MLFS_DATA"])
        path = folder / file if "/" in file else folder / name / file
    else:
        path = _small(tmp_path)
    command = [sys.executable, "-m", "mlfs_dask", "data", "ingest", str(path), "--name", "it"]
    cost = side_by_side.command(
        f"ingest {name}, whole process, peak memory",
        [*command, "--json"],
        at_most_bytes=500_000_000,
        env={**os.environ, "MLFS_STORES": str(tmp_path)},
    )
    assert cost.peak_bytes > 0
    assert (tmp_path / "it.zarr" / "complete").exists()
