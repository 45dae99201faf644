"""The maps of folders in the docstrings of their packages name all modules, and no others."""

import importlib
import re
from pathlib import Path

import pytest

import mlfs_dask

LAYERS = sorted(path.parent.name for path in Path(mlfs_dask.__file__).parent.glob("*/__init__.py"))


@pytest.mark.parametrize("package", LAYERS)
def test_a_map_names_each_module_once(package):
    """A new module is missing here until the docstring of its package says what it is for."""
    module = importlib.import_module(f"mlfs_dask.{package}")
    folder = Path(module.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    named = re.findall(r"(?<!`)`(\w+)`(?!`)", module.__doc__)
    assert sorted(named) == sorted(modules | packages)


def test_every_layer_is_looked_at():
    assert {"graphs", "kernels", "jobs", "storage", "cli", "testing"} < set(LAYERS)
