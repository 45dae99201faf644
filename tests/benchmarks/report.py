"""BENCHMARKS.md: the rows of one run and the machine it ran on."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from benchmarks.large import Line
from benchmarks.side_by_side import Row, show_bytes, show_seconds

PACKAGES = [
    *("numpy", "scipy", "numba", "scikit-learn", "dask", "distributed", "zarr"),
    *("liac-arff", "faiss-cpu", "scikit-multilearn-ng", "skfeature-chappers"),
]
"""Ours and the peers'."""

HEAD = """# Benchmarks

Written by `make bench`: do not edit. Every line was measured side by side in one run: the
contenders take turns, medians are compared, smallest and largest round stand in brackets. Only the
relations carry over to other machines.
"""

LARGE = """## Large stores

From the opened store to the order of the features, once each, in a process of its own, imports
included: on its threads, or on a cluster of workers with 2 GiB each that is up already. The first
peak is that of the process that decides, the others are the workers'. Tasks are items handed out to
threads or workers; read is what was read of the store.
"""


def machine() -> dict[str, str]:
    """What a reader needs to judge the figures."""
    import numpy as np  # noqa: F401  its BLAS is listed once it is loaded

    blas = [
        f"{pool['internal_api']} {pool.get('version')}, {pool.get('architecture', 'unknown')} "
        f"kernels, {pool['num_threads']} threads"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return {
        "Date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "mlfs-dask": f"{version('mlfs-dask')}, commit {_commit()}",
        "Processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Memory": show_bytes(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        "Load before": f"{os.getloadavg()[0]:.2f}",
        "System": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "BLAS": "; ".join(sorted(set(blas))) or "none loaded",
        "Packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


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


def document(rows: Sequence[Row], facts: dict[str, str], lines: Sequence[Line] = ()) -> str:
    """The whole file."""
    about = ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts.items())]
    large = [LARGE, *large_table(lines), ""] if lines else []
    return "\n".join([HEAD, *about, "", *table(rows), "", *large])
