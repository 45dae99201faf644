"""BENCHMARKS.md: the machine, and a section for each file of benchmarks, each of one run."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from benchmarks.large import Line
from benchmarks.side_by_side import Row, show_bytes, show_seconds

PACKAGES = [
    *("numpy", "scipy", "numba", "scikit-learn", "dask", "distributed", "zarr"),
    *("liac-arff", "faiss-cpu", "scikit-multilearn-ng", "skfeature-chappers"),
]
"""Ours and the peers'."""

HEAD: Final = """# Benchmarks

Written by `make bench`: do not edit. Lines of two contenders were measured side by side in one run:
the contenders take turns, medians are compared, smallest and largest round stand in brackets. Only
the relations carry over to other machines.

Lines with peaks are selections from large stores: from the opened store to the order of the
features, once each, in a process of its own, imports included; on its threads, or on a cluster of
workers with 2 GiB each that is up already. The first peak is that of the process that decides, the
others are the workers'. Tasks are items handed out to threads or workers; read is what was read of
the store.
"""

_POOLS: Final = """
import json
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(json.dumps(threadpool_info()))
"""

SECTION: Final = re.compile(r"(?=^<!-- ([\w.]+) -->$)", re.MULTILINE)
"""Before the comment that names the file a section comes from."""


@dataclass
class Section:
    """What one file of benchmarks measured.

    Attributes
    ----------
    title
        What it is about.
    measured
        When, of which commit, on how busy a machine.
    rows, lines
        In the order of measuring.
    """

    title: str
    measured: str
    rows: list[Row] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def misses(self) -> bool:
        """Whether a bound was missed."""
        return False in [*(row.met for row in self.rows), *(line.met for line in self.lines)]

    def text(self, name: str) -> str:
        """The section in Markdown; `name` is that of the file."""
        tables = [table(self.rows)] if self.rows else []
        tables += [large_table(self.lines)] if self.lines else []
        parts = [f"<!-- {name} -->", f"## {self.title}", "", self.measured, ""]
        return "\n".join(parts + [line for shown in tables for line in [*shown, ""]])


def measured_now() -> str:
    """The line of a section that begins to be measured."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Measured {now}, commit {_commit()}; load before {os.getloadavg()[0]:.2f}."


def machine() -> dict[str, str]:
    """What a reader needs to judge the figures, and what makes those of two runs comparable."""
    # In a process of its own: peers have loaded libraries of theirs here, or have yet to.
    asked = [sys.executable, "-c", _POOLS]
    pools = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    blas = [
        f"{pool['internal_api']} {pool.get('version')}, {pool.get('architecture', 'unknown')} "
        f"kernels, {pool['num_threads']} threads"
        for pool in pools
        if pool["user_api"] == "blas"
    ]
    return {
        "mlfs-dask": version("mlfs-dask"),
        "Processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Memory": show_bytes(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        "System": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "BLAS": "; ".join(sorted(set(blas))) or "none loaded",
        "Packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    }


def _commit() -> str:
    """The commit, and whether files differ from it, other than the one that is written here."""
    root = Path(__file__).parents[2]

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *words]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    commit = git("rev-parse", "--short", "HEAD").stdout.strip()
    changed = git("diff", "--quiet", "HEAD", "--", ".", ":(exclude)BENCHMARKS.md").returncode
    return commit + ("-dirty" if changed else "") if commit else "unknown"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def table(rows: Sequence[Row]) -> list[str]:
    """Rows as the lines of a Markdown table, in the order of measuring."""
    lines = [
        "| what | ours | against | its time | result | asked | met |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        cells = [row.what, row.ours, row.against, row.theirs, row.result, row.asked, met]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def large_table(lines: Sequence[Line]) -> list[str]:
    """Selections from large stores as the lines of a Markdown table, in the order of measuring."""
    shown = [
        "| selection | on | time | processor time | peak memory per process | tasks | read | asked "
        "| met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        cost, met = line.cost, {True: "yes", False: "**no**", None: ""}[line.met]
        times = show_seconds(cost.seconds), show_seconds(cost.cpu_seconds)
        peaks = ", ".join(map(show_bytes, cost.peaks))
        sizes = f"{cost.tasks:,}", show_bytes(cost.bytes_read)
        cells = [line.what, line.where, *times, peaks, *sizes, line.asked, met]
        shown.append("| " + " | ".join(cells) + " |")
    return shown


def head(facts: Mapping[str, str]) -> str:
    """What stands before the sections."""
    about = ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts.items())]
    return "\n".join([HEAD, *about, "", ""])


def renewed(
    old: str, facts: Mapping[str, str], sections: Mapping[str, Section], files: Collection[str]
) -> str:
    """The whole file, with these sections in the place of older ones.

    Parameters
    ----------
    old
        The file as it is.
    facts
        See `machine`. Sections measured on another machine, or with other packages, are dropped.
    sections
        By name of the file that they come from.
    files
        Files of benchmarks that there are.
    """
    before, *parts = SECTION.split(old)
    texts = dict(zip(parts[::2], parts[1::2], strict=True)) if before == head(facts) else {}
    texts |= {name: section.text(name) for name, section in sections.items()}
    kept = [texts[name].strip() for name in sorted(texts) if name in files]
    return head(facts) + "\n\n".join(kept) + "\n"
