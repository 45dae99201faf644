"""The fixtures of the benchmarks, and what `make bench` does with their rows.

$MLFS_BENCH is set by the Makefile: ``write`` (measure whole files, write their sections of
BENCHMARKS.md) or ``print`` (measure a selection, show it only). Without it each benchmark runs
once, quickly, as a normal test. Large stores are kept in $MLFS_BENCH_STORES for the next run where
it is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.large import LargeStores
from benchmarks.report import Section
from benchmarks.side_by_side import SideBySide

MODE = os.environ.get("MLFS_BENCH", "")
SECTIONS = pytest.StashKey[dict[str, Section]]()
HERE = Path(__file__).parent
# Asked now: clusters that benchmarks start change the environment, threads of libraries with it.
FACTS = report.machine() if MODE == "write" else {}


@pytest.fixture
def section(request: pytest.FixtureRequest) -> Section:
    """Of the file that the test is in."""
    sections = request.config.stash.setdefault(SECTIONS, {})
    if request.path.name not in sections:
        title = " ".join((request.module.__doc__ or request.path.stem).split("\n\n")[0].split())
        measured = report.measured_now() if MODE else ""
        sections[request.path.name] = Section(title.removesuffix("."), measured)
    return sections[request.path.name]


@pytest.fixture
def side_by_side(section: Section) -> SideBySide:
    """Runs contenders: all rounds under `make bench`, else once."""
    return SideBySide(full=bool(MODE), rows=section.rows)


@pytest.fixture(scope="session")
def large_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where large stores are made."""
    kept = os.environ.get("MLFS_BENCH_STORES")
    if MODE and kept:
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept)
        return
    folder = tmp_path_factory.mktemp("large")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def large(section: Section, large_folder: Path) -> LargeStores:
    """Large stores, made where the real files are at hand, and selections from them."""
    data = os.environ.get("MLFS_DATA")
    if MODE and not data:
        raise FileNotFoundError("set MLFS_DATA to the folder of benchmark files to measure")
    return LargeStores(large_folder, Path(data) if data else None, bool(MODE), section.lines)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A missed bound is no failed test, but the run as a whole did not pass."""
    missed = any(section.misses() for section in session.config.stash.get(SECTIONS, {}).values())
    if missed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the tables; write the sections of files in which nothing broke."""
    found = terminalreporter.config.stash.get(SECTIONS, {})
    sections = {name: each for name, each in found.items() if each.rows or each.lines}
    for name, section in sections.items():
        terminalreporter.section(section.title)
        for line in section.text(name).splitlines()[4:]:
            terminalreporter.write_line(line)
    if MODE == "write":
        _write(terminalreporter, sections)


def _write(terminalreporter: pytest.TerminalReporter, sections: dict[str, Section]) -> None:
    stats = terminalreporter.stats
    bad = [each.nodeid for each in (*stats.get("failed", []), *stats.get("error", []))]
    broken = {name for name in sections if any(name in nodeid for nodeid in bad)}
    for name in sorted(broken):
        terminalreporter.write_line(f"the section of {name} is left as it was: it broke")
    path = Path(terminalreporter.config.rootpath) / "BENCHMARKS.md"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = {name: each for name, each in sections.items() if name not in broken}
    files = {each.name for each in HERE.glob("test_*.py")}
    path.write_text(report.renewed(old, FACTS, whole, files), encoding="utf-8")
    terminalreporter.write_line(f"wrote {len(whole)} sections of {path.name}")
