"""The fixture of the benchmarks, and what `make bench` does with their rows.

$MLFS_BENCH is set by the Makefile: ``write`` (measure, write BENCHMARKS.md) or ``print`` (measure a
selection, show it only). Without it each benchmark runs once, quickly, as a normal test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.large import LargeStores, Line
from benchmarks.side_by_side import Row, SideBySide

MODE = os.environ.get("MLFS_BENCH", "")
ROWS = pytest.StashKey[list[Row]]()
LINES = pytest.StashKey[list[Line]]()
MACHINE = pytest.StashKey[dict[str, str]]()


def _note_machine(config: pytest.Config) -> None:
    if MODE and MACHINE not in config.stash:
        config.stash[MACHINE] = report.machine()


@pytest.fixture
def side_by_side(request: pytest.FixtureRequest) -> SideBySide:
    """Runs contenders: all rounds under `make bench`, else once."""
    rows = request.config.stash.setdefault(ROWS, [])
    _note_machine(request.config)
    return SideBySide(full=bool(MODE), rows=rows)


@pytest.fixture(scope="session")
def large(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LargeStores]:
    """Large stores, made where the real files are at hand, and selections from them."""
    lines = request.config.stash.setdefault(LINES, [])
    data = os.environ.get("MLFS_DATA")
    if MODE and not data:
        raise FileNotFoundError("set MLFS_DATA to the folder of benchmark files to measure")
    _note_machine(request.config)
    folder = tmp_path_factory.mktemp("large")
    yield LargeStores(folder, Path(data) if data else None, bool(MODE), lines)
    shutil.rmtree(folder)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A missed bound is no failed test, but the run as a whole did not pass."""
    stash = session.config.stash
    missed = [row for row in stash.get(ROWS, []) if row.met is False]
    too_large = [line for line in stash.get(LINES, []) if line.met is False]
    if (missed or too_large) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the table; write the file after a whole run in which nothing broke."""
    stash = terminalreporter.config.stash
    rows, lines = stash.get(ROWS, []), stash.get(LINES, [])
    tables = {
        "side by side": report.table(rows) if rows else [],
        "large stores": report.large_table(lines) if lines else [],
    }
    for title, table in tables.items():
        if table:
            terminalreporter.section(title)
        for line in table:
            terminalreporter.write_line(line)
    broken = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    if MODE != "write" or not any(tables.values()):
        return
    if broken:
        terminalreporter.write_line("BENCHMARKS.md is left as it was: a benchmark broke")
        return
    path = Path(terminalreporter.config.rootpath) / "BENCHMARKS.md"
    path.write_text(report.document(rows, stash[MACHINE], lines), encoding="utf-8")
    terminalreporter.write_line(f"wrote {path.name}")
