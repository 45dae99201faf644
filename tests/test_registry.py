"""Registry names: built-ins, plug-ins, clashes."""

import sys

import pytest

from mlfs_dask import registry
from mlfs_dask.errors import PluginError


@pytest.fixture
def plugin_dist(tmp_path, monkeypatch):
    """An installed distribution on sys.path that registers the entry points given."""

    def install(name, entry_points, code=""):
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (folder / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(folder))
        registry.names.cache_clear()

    yield install
    registry.names.cache_clear()
    for module in [m for m in sys.modules if m.startswith("plugin_of_test")]:
        del sys.modules[module]


def test_a_plug_in_joins(plugin_dist):
    plugin_dist(
        "plugin_of_test_a",
        "[mlfs_dask.selectors]\nmine = plugin_of_test_a:Mine\n",
        "class Mine:\n    def __init__(self, k=1):\n        self.k = k\n",
    )
    assert "mine" in registry.names("selectors")
    assert registry.get_selector("mine", k=3).k == 3


def test_a_name_taken_twice_names_both_owners(plugin_dist):
    plugin_dist("plugin_of_test_b", "[mlfs_dask.selectors]\nspec = plugin_of_test_b:X\n")
    with pytest.raises(PluginError, match=r"mlfs-dask and plugin_of_test_b"):
        registry.names("selectors")


def test_a_plug_in_that_fails_raises_when_used(plugin_dist):
    plugin_dist(
        "plugin_of_test_c",
        "[mlfs_dask.selectors]\nbroken = plugin_of_test_c:Nope\n",
        "import module_that_is_not_there\n",
    )
    assert "broken" in registry.names("selectors")
    with pytest.raises(PluginError, match="cannot be loaded"):
        registry.get_selector("broken")


def test_an_unknown_name_lists_the_nearest():
    with pytest.raises(PluginError, match=r"no selector is named 'spek'(.|\n)*Did you mean 'spec'"):
        registry.get_selector("spek")
