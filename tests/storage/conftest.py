"""Fixtures of the storage tests."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushing guards against power loss, which no test brings about, and is most of their time."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
