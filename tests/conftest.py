"""Fixtures and hypothesis profiles shared by all tests."""

import json
import os
import signal
from pathlib import Path

import hypothesis
import pytest

from both_ends import pytest_runtestloop as pytest_runtestloop

hypothesis.settings.register_profile("dev", max_examples=25, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=40, deadline=None, derandomize=True)
hypothesis.settings.register_profile("slow", max_examples=400, deadline=None)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


# Shells and nohup have what runs in the background ignore these; processes that tests interrupt
# would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def mlfs_data() -> Path:
    """The folder of real benchmark files, named by $MLFS_DATA."""
    value = os.environ.get("MLFS_DATA")
    if not value:
        pytest.skip("MLFS_DATA is not set: no real benchmark files")
    folder = Path(value)
    assert folder.is_dir(), f"MLFS_DATA={value} is not a folder"
    return folder


@pytest.fixture(autouse=True)
def _isolated_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes stores or runs into the checkout."""
    monkeypatch.setenv("MLFS_STORES", str(tmp_path / "stores"))
    monkeypatch.setenv("MLFS_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("MLFS_CALIBRATION", str(tmp_path / "calibration.json"))


@pytest.fixture(scope="session")
def two_workers():
    """A Dask cluster of two worker processes for whoever doesn't harm them."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def invoke():
    """Call a command as users type it; anything but our own errors fails the test."""
    from click.testing import CliRunner

    from mlfs_dask.cli import mlfs

    def call(*arguments, code=0):
        result = CliRunner().invoke(mlfs, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def document(invoke):
    """The JSON document that a command prints."""
    return lambda *arguments, code=0: json.loads(invoke(*arguments, "--json", code=code).stdout)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch):
    """The plug-ins in tests/plugins, here and in processes that are started."""
    from mlfs_dask import registry

    tests = Path(__file__).parent
    folders = [str(tests / "plugins"), str(tests)]
    for folder in folders:
        monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")]))
    registry.names.cache_clear()
    yield
    registry.names.cache_clear()
