"""``mlfs doctor``: asks client, scheduler and workers for facts, puts judgements together."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from mlfs_dask.jobs.clusters import checks, cluster_checks
from mlfs_dask.jobs.clusters.certificates import expiry
from mlfs_dask.jobs.clusters.findings import Finding
from mlfs_dask.jobs.clusters.live import Live, look
from mlfs_dask.jobs.clusters.probe import (
    Facts,
    SchedulerFacts,
    answer_note,
    free_bytes,
    probe,
    probe_scheduler,
    store_digest,
)
from mlfs_dask.jobs.clusters.target import Target
from mlfs_dask.storage.atomic import create_file, remove
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import counted

_CLOCK_LOOKS: Final = 3
_SHARED_SECONDS: Final = 5.0


class Store(Struct, frozen=True):
    """A store as the client sees it.

    Attributes
    ----------
    path
        Absolute.
    digest
        Its digest.
    """

    path: str
    digest: str


class Diagnosis(Struct, frozen=True):
    """All findings, what matters first.

    Attributes
    ----------
    findings
        Of all checks.
    cluster
        The cluster that was looked at, or None.
    """

    findings: list[Finding]
    cluster: Live | None

    def count(self, level: str) -> int:
        """Findings of a level.

        Parameters
        ----------
        level
            As in `Finding`.
        """
        return sum(finding.level == level for finding in self.findings)


_ORDER: Final = ("problem", "warning", "note", "ok")


def examine_machine(runs: Place, stores: Place, store: Store | None) -> Diagnosis:
    """Look at this machine alone.

    Parameters
    ----------
    runs, stores
        Folders of runs and of stores, there or not yet.
    store
        One to be used, if any.
    """
    here = probe()
    places = _disks({"runs": runs, "stores": stores})
    findings = [
        _own_versions(here),
        *checks.check_numba({"client": here}),
        *checks.check_disk(places),
        *_own_processor(here),
    ]
    if store is not None:
        findings.append(_own_store(store))
    return _sorted(findings, None)


def examine_cluster(client: Any, target: Target, runs: Place, store: Store | None) -> Diagnosis:
    """Look at a cluster, from this machine.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    target
        By which it was connected.
    runs
        Folder of runs.
    store
        One that jobs are to use, if any.
    """
    live = look(client)
    here = probe()
    scheduler = _of_scheduler(client)
    answers = _of_workers(client, probe)
    workers = {node: facts for node, facts in answers.items() if isinstance(facts, Facts)}
    told = {n: a if isinstance(a, Facts) else str(a) for n, a in answers.items()}
    places = _disks({"runs": runs})
    for facts in workers.values():
        scratch = f"what workers spill on {facts.host}"
        places[scratch] = min(facts.free_bytes, places.get(scratch, facts.free_bytes))
    findings = [
        *checks.check_versions(here, scheduler, told),
        *checks.check_numba({"client": here, **workers}),
        *checks.check_processors(here, workers),
        *checks.check_threads(live, workers),
        *checks.check_memory(live, workers),
        *checks.check_disk(places),
        *cluster_checks.check_network(target.address, scheduler, live),
        *cluster_checks.check_clocks(dict(_skews(client, scheduler, workers))),
    ]
    if isinstance(scheduler, SchedulerFacts):
        findings += cluster_checks.check_scheduler(scheduler, live)
    if target.tls is not None:
        findings += cluster_checks.check_files(target.tls, expiry(target.tls.cert))
    if workers:
        findings += cluster_checks.check_runs(str(runs.absolute()), _runs_seen(client, runs))
    if store is not None and workers:
        answers = _of_workers(client, store_digest, store.path)
        seen = {node: str(answer).partition("\n")[0] for node, answer in answers.items()}
        findings += cluster_checks.check_store(store.path, store.digest, seen)
    return _sorted(findings, live)


def _sorted(findings: Sequence[Finding], live: Live | None) -> Diagnosis:
    return Diagnosis(sorted(findings, key=lambda each: _ORDER.index(each.level)), live)


def _disks(used: Mapping[str, Place]) -> dict[str, int]:
    """Free bytes of the disks in use; object storage does not tell."""
    return {
        f"{what} in {folder.absolute()}": free_bytes(folder)
        for what, folder in used.items()
        if isinstance(folder, Path)
    }


def _own_versions(here: Facts) -> Finding:
    named = ", ".join(f"{name} {version}" for name, version in here.versions.items() if version)
    return Finding(check="versions", level="ok", message=named)


def _own_processor(here: Facts) -> Iterator[Finding]:
    threads = ", ".join(f"{pool.library} {pool.threads}" for pool in here.pools)
    yield Finding(
        check="processors",
        level="ok",
        message=f"{counted(here.cores, 'core')}, {here.processor}; threads of libraries: {threads}",
    )
    forced = os.environ.get("OPENBLAS_CORETYPE")
    if forced:
        yield Finding(
            check="processors",
            level="note",
            message=f"OPENBLAS_CORETYPE={forced} changes the last bits of scores, and may be slow",
            fix="Unset it, or set it everywhere.",
        )


def _own_store(store: Store) -> Finding:
    message = f"{store.path}, digest {store.digest[:10]}"
    return Finding(check="store", level="ok", message=message)


def _of_scheduler(client: Any) -> SchedulerFacts | str:
    try:
        facts: SchedulerFacts = client.run_on_scheduler(probe_scheduler)
    except Exception as error:  # whatever a foreign process answers is a finding, not a fault
        return _reason(error)
    return facts


def _of_workers(client: Any, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """Answers of all workers by address; an exception in words where there is one."""
    answers = client.run(function, *args, on_error="return")
    return {
        node: _reason(answer) if isinstance(answer, BaseException) else answer
        for node, answer in answers.items()
    }


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _skews(
    client: Any, scheduler: SchedulerFacts | str, workers: Mapping[str, Facts]
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Host -> seconds ahead of this machine and how far off that may be; one process per host."""
    seen = set()
    if isinstance(scheduler, SchedulerFacts):
        seen.add(scheduler.host)
        yield scheduler.host, _skew(lambda: client.run_on_scheduler(time.time))
    for address, facts in workers.items():
        if facts.host not in seen:
            seen.add(facts.host)
            yield facts.host, _skew(partial(_time_at, client, address))


def _time_at(client: Any, worker: str) -> float:
    return float(client.run(time.time, workers=[worker])[worker])


def _skew(ask: Callable[[], float]) -> tuple[float, float]:
    """The quickest of a few answers: its moment lies somewhere between asking and hearing."""
    looks = []
    for _ in range(_CLOCK_LOOKS):
        before = time.time()
        there = ask()
        after = time.time()
        looks.append(((after - before) / 2, there - (before + after) / 2))
    doubt, ahead = min(looks)
    return ahead, doubt


def _runs_seen(client: Any, runs: Place) -> dict[str, str | None]:
    """Which workers see a file that is written here, and can answer by another."""
    folder = runs.absolute()
    while isinstance(folder, Path) and not folder.exists():  # it is made by the first run
        folder = folder.parent
    token = secrets.token_hex(4)
    note, answer = (folder / f".mlfs-doctor-{token}-{part}" for part in ("note", "answer"))
    try:
        create_file(note, token.encode())
        return {
            worker: _written(client, worker, folder, note.name, answer)
            for worker in client.scheduler_info(n_workers=-1)["workers"]
        }
    finally:
        remove(note)


def _written(client: Any, worker: str, folder: Place, note: str, answer: Place) -> str | None:
    found = client.run(
        answer_note,
        str(folder),
        note,
        answer.name,
        _SHARED_SECONDS,
        workers=[worker],
        on_error="return",
    )[worker]
    if isinstance(found, BaseException):
        return _reason(found)
    if not found:
        return "what is written here is not seen there"
    deadline = time.monotonic() + _SHARED_SECONDS
    while not answer.exists():
        if time.monotonic() > deadline:
            return "what is written there is not seen here"
        time.sleep(0.05)
    remove(answer)
    return None
