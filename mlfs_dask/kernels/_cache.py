"""Compiled kernels that are older than their source are thrown away.

Numba compares a cached kernel with the file of that kernel only. Helpers that become part of it
stand in other files: when one of them changes, by an upgrade or an edit, the old code would go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

STAMP: Final = "kernels.json"
_IMPORTS: Final = re.compile(r"^from mlfs_dask\.kernels\.(\w+) import", re.MULTILINE)


def drop_stale(sources: Path, cache: Path) -> None:
    """Delete cached kernels whose module, or one that it imports from, has changed.

    Safe with several processes at once: numba compiles what is not there.

    Parameters
    ----------
    sources
        Folder of the kernels' modules.
    cache
        Folder with numba's files of these modules, or what will be one. One that cannot be written
        holds what came with the sources, and is left alone.
    """
    now = digests(sources)
    stamp = cache / STAMP
    try:
        before = json.loads(stamp.read_text())
    except (OSError, ValueError):
        before = {}
    if before == now:
        return
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(cache, os.W_OK):
        return
    for file in cache.glob("*.nb[ic]"):
        module = file.name.partition(".")[0]
        if before.get(module) != now.get(module):
            file.unlink(missing_ok=True)
    fresh = cache / f"{STAMP}.{os.getpid()}"
    fresh.write_text(json.dumps(now))
    fresh.replace(stamp)


def digests(sources: Path) -> dict[str, str]:
    """Digest of each module with all that it imports from among the kernels.

    Parameters
    ----------
    sources
        Folder of the kernels' modules.
    """
    texts = {file.stem: file.read_text("utf-8") for file in sorted(sources.glob("*.py"))}
    imported = {module: set(_IMPORTS.findall(text)) for module, text in texts.items()}
    found = {}
    for module in texts:
        parts = sorted(_reached(module, imported) & texts.keys())
        joined = "\0".join(texts[part] for part in parts)
        found[module] = hashlib.sha256(joined.encode()).hexdigest()[:16]
    return found


def _reached(module: str, imported: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += imported.get(one, ())
    return reached
