"""Compiled kernels follow the sources of all that became part of them."""

import os
import subprocess
import sys

import pytest

from mlfs_dask.kernels._cache import STAMP, digests, drop_stale


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "kernels"
    cache = folder / "__pycache__"
    cache.mkdir(parents=True)
    (folder / "helper.py").write_text("A = 1\n")
    (folder / "kernel.py").write_text("from mlfs_dask.kernels.helper import A\n")
    (folder / "caller.py").write_text("from mlfs_dask.kernels.kernel import A\n")
    (folder / "other.py").write_text("B = 1\n")
    drop_stale(folder, cache)
    for module in ("helper", "kernel", "caller", "other"):
        (cache / f"{module}.f-1.py311.nbi").touch()
        (cache / f"{module}.f-1.py311.1.nbc").touch()
    return folder


def left(folder):
    return {file.name.partition(".")[0] for file in (folder / "__pycache__").glob("*.nb[ic]")}


def test_what_imports_a_changed_module_is_dropped_with_it(sources):
    drop_stale(sources, sources / "__pycache__")
    assert left(sources) == {"helper", "kernel", "caller", "other"}
    (sources / "helper.py").write_text("A = 2\n")
    drop_stale(sources, sources / "__pycache__")
    assert left(sources) == {"other"}


def test_without_a_stamp_nothing_is_trusted(sources):
    (sources / "__pycache__" / STAMP).write_text("{")
    drop_stale(sources, sources / "__pycache__")
    assert left(sources) == set()
    drop_stale(sources, sources / "nowhere")  # not there yet: nothing to drop
    assert (sources / "nowhere" / STAMP).exists()


def test_modules_that_import_each_other_end(sources):
    (sources / "helper.py").write_text("from mlfs_dask.kernels.caller import A\n")
    found = digests(sources)
    assert found["helper"] == found["kernel"] == found["caller"] != found["other"]


@pytest.mark.parametrize("given", [True, False])
def test_numba_finds_no_old_helper_in_its_cache(tmp_path, given):
    """With a package of two modules: the helper of a cached kernel changes."""
    package = tmp_path / "mlfs_dask" / "kernels"
    package.mkdir(parents=True)
    (tmp_path / "mlfs_dask" / "__init__.py").touch()
    (package / "__init__.py").touch()
    import mlfs_dask.kernels._cache as cache
    import mlfs_dask.kernels._jit as jit

    for module in (cache, jit):
        name = module.__file__.rpartition("/")[2]
        with open(module.__file__, encoding="utf-8") as source:
            (package / name).write_text(source.read())
    (package / "kernel.py").write_text(
        "from mlfs_dask.kernels._jit import jit\n"
        "from mlfs_dask.kernels.helper import one\n"
        "@jit\ndef kernel(x):\n    return x + one()\n"
    )
    asked = (
        "from mlfs_dask.kernels.kernel import kernel; "
        "print(kernel(1), sum(kernel.stats.cache_hits.values()))"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    if given:
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")

    def ask(answer):
        (package / "helper.py").write_text(
            f"from mlfs_dask.kernels._jit import jit\n@jit\ndef one():\n    return {answer}\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", asked],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert [ask(1), ask(1), ask(5)] == [["2", "0"], ["2", "1"], ["6", "0"]]
