"""The fixture of the benchmarks, and what `make bench` does with their rows.

$MLFS_BENCH is set by the Makefile: ``write`` (measure, write BENCHMARKS.md) or ``print`` (measure a
selection, show it only). Without it each benchmark runs once, quickly, as a normal test.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.side_by_side import Row, SideBySide

MODE = os.environ.get("MLFS_BENCH", "")
ROWS = pytest.StashKey[list[Row]]()
MACHINE = pytest.StashKey[dict[str, str]]()


@pytest.fixture
def side_by_side(request: pytest.FixtureRequest) -> SideBySide:
    """Runs contenders: all rounds under `make bench`, else once."""
    rows = request.config.stash.setdefault(ROWS, [])
    if MODE and MACHINE not in request.config.stash:
        request.config.stash[MACHINE] = report.machine()
    return SideBySide(full=bool(MODE), rows=rows)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A missed bound is no failed test, but the run as a whole did not pass."""
    missed = [row for row in session.config.stash.get(ROWS, []) if row.met is False]
    if missed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the table; write the file after a whole run in which nothing broke."""
    rows = terminalreporter.config.stash.get(ROWS, [])
    if not rows:
        return
    terminalreporter.section("side by side")
    for line in report.table(rows):
        terminalreporter.write_line(line)
    broken = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    if MODE != "write":
        return
    if broken:
        terminalreporter.write_line("BENCHMARKS.md is left as it was: a benchmark broke")
        return
    path = Path(terminalreporter.config.rootpath) / "BENCHMARKS.md"
    facts = terminalreporter.config.stash[MACHINE]
    path.write_text(report.document(rows, facts), encoding="utf-8")
    terminalreporter.write_line(f"wrote {path.name}")
