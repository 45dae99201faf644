"""The guide to a selector in one file is followed to the letter."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import mlfs_dask
from mlfs_dask import get_selector, open_run, registry
from mlfs_dask.jobs.clusters.versions import differences, installed_versions

GUIDE = Path(mlfs_dask.__file__).parent / "selectors" / "README.md"
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_guide(folder):
    """Write the files of the guide; returns its commands."""
    said = []
    for language, name, block in FENCE.findall(GUIDE.read_text(encoding="utf-8")):
        if language == "console":
            said += [line.removeprefix("$ mlfs ").split() for line in block.splitlines()]
        else:
            (folder / name).write_text(block, encoding="utf-8")
    return said


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Commands of the guide, in a folder with its files; the package is installed."""
    said = write_guide(tmp_path)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head, encoding="utf-8")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    registry.names.cache_clear()
    yield said
    registry.names.cache_clear()
    sys.modules.pop("mean_gap", None)


def test_the_guide_runs_and_finds_what_was_planted(commands, document, invoke):
    made, methods, run = commands
    store = document(*made)["path"]
    assert "'mean' or 'max'" in invoke(*methods).stdout
    assert "mean-gap: nothing is known of its costs" in invoke("plan", run[-1]).stdout
    done = open_run(document(*run)["folder"])
    [selection] = [each for each in done.selections if each["fold"] is None]
    assert selection["params"]["aggregate"] == "max"
    planted = mlfs_dask.open_dataset(store).truth["relevant"]
    assert len(set(planted) & set(selection["order"][:5])) >= 4
    assert {row["n_features"] for row in done.evaluation} == {5, 20}


@pytest.mark.usefixtures("commands")
def test_a_cluster_without_the_package_is_told():
    """As a warning only: other jobs run there all the same."""
    here = installed_versions()
    workers = {"worker 1": here, "worker 2": {**here, "mean-gap": None}}
    [missing] = differences(workers, here)
    assert (str(missing), missing.matters) == ("mean-gap is missing on worker 2, 1.0 here", False)


def test_its_scores_are_those_of_its_docstring(commands):
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 4)), (rng.random((40, 3)) < 0.4).astype(np.uint8)
    X[:, 2], Y[:, 1] = 7.0, 1
    found = get_selector("mean-gap", tile=16).fit(X, Y)
    expected = [
        np.mean(
            [abs(f[y == 1].mean() - f[y == 0].mean()) / np.ptp(f) if np.ptp(y) else 0 for y in Y.T]
        )
        for f in X[:, [0, 1, 3]].T
    ]
    np.testing.assert_allclose(found.scores_[[0, 1, 3]], expected, rtol=1e-12)
    assert found.order_[-1] == 2


@pytest.mark.slow
def test_the_package_as_it_is_installed_works_on_a_cluster(tmp_path):
    """Built as the guide's pyproject.toml says; of the guide's files only the job is left."""
    package, installed, away = (tmp_path / name for name in ("package", "installed", "away"))
    for folder in (package, away):
        folder.mkdir()
    commands = write_guide(package)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(build, cwd=package, check=True, capture_output=True)
    [wheel] = package.glob("dist/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    (package / "gaps.toml").rename(away / "gaps.toml")
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MLFS_")}

    def mlfs(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "mlfs_dask", *arguments],
            cwd=away,
            env={**kept, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    mlfs("cluster", "start", "--workers", "2")
    try:
        for arguments in commands:
            mlfs(*arguments)
        assert "fit for jobs" in mlfs("doctor", "--profile", "local")
        mlfs("run", "gaps.toml", "--set", "name=elsewhere", "--profile", "local")
    finally:
        mlfs("cluster", "stop")
    here, there = (
        list(away.glob(f"runs/{name}-*/evaluation.csv")) for name in ("gaps", "elsewhere")
    )
    assert here[0].read_bytes() == there[0].read_bytes()
