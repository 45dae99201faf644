"""Two processes share the tests: one begins at the first module, one at the last, till they meet.

``tests/run_all.sh`` starts both. Modules go whole to whoever comes first, so module fixtures are
made once, and what one process waits for, the other computes beside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def claimed(items: list[pytest.Item], claims: Path, *, backwards: bool) -> Iterator[pytest.Item]:
    """The tests of the modules that no other process has claimed before; claims them one by one."""
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    for path in reversed(modules) if backwards else modules:
        try:
            (claims / str(path).replace(os.sep, "+")).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield from modules[path]


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """As pytest's own, for the tests that this process claims; without a folder of claims all."""
    claims = os.environ.get("MLFS_TEST_CLAIMS")
    if claims is None or session.config.option.collectonly or session.testsfailed:
        return None
    backwards = "MLFS_TEST_BACKWARDS" in os.environ
    own = claimed(session.items, Path(claims), backwards=backwards)
    item = next(own, None)
    while item is not None:
        following = next(own, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True
