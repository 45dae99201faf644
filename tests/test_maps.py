"""The maps of folders in the docstrings of their packages name modules that are there."""

import importlib
import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("package", ["graphs", "kernels", "jobs"])
def test_a_map_names_modules(package):
    module = importlib.import_module(f"mlfs_dask.{package}")
    folder = Path(module.__file__).parent
    named = re.findall(r"(?<!`)`(\w+)`(?!`)", module.__doc__)
    assert len(named) >= 20
    assert len(set(named)) == len(named)
    for name in named:
        assert (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file(), name
