"""Fixtures and hypothesis profiles shared by all tests."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

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
