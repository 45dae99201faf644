"""Whole processes, and what they cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandCost:
    """What a process took: seconds, peak resident memory of it alone (Linux), its output."""

    seconds: float
    peak_bytes: int
    stdout: str


# A process inherits the peak of the one that starts it, so a small one stands in between.
_LAUNCHER = """
import json, os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(child.pid, 0)
cost = {"seconds": time.perf_counter() - begin, "peak_kib": used.ru_maxrss}
os.write(int(sys.argv[1]), json.dumps(cost).encode())
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


def run_command(argv: Sequence[str], env: Mapping[str, str] | None = None) -> CommandCost:
    """Run a command to its end and say what it took.

    Raises
    ------
    RuntimeError
        It ended with another exit code than 0; the message holds what it wrote to stderr.
    """
    reading, writing = os.pipe()
    with os.fdopen(reading) as report:
        try:
            done = subprocess.run(
                [sys.executable, "-S", "-c", _LAUNCHER, str(writing), *argv],
                capture_output=True,
                text=True,
                env=None if env is None else dict(env),
                pass_fds=[writing],
                check=False,
            )
        finally:
            os.close(writing)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(argv)} failed:\n{done.stderr}")
        cost = json.loads(report.read())
    return CommandCost(cost["seconds"], cost["peak_kib"] * 1024, done.stdout)
