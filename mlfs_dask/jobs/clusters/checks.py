"""Judgements of ``mlfs doctor`` on processes and machines: facts in, findings out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mlfs_dask.jobs.clusters.findings import Finding, several
from mlfs_dask.jobs.clusters.live import Live
from mlfs_dask.jobs.clusters.probe import Facts, SchedulerFacts
from mlfs_dask.jobs.clusters.versions import differences
from mlfs_dask.jobs.sizes import show_bytes
from mlfs_dask.wording import counted

_MIB: Final = 2**20
_LEAST_MEMORY: Final = 500 * _MIB  # interpreter, packages and compiled kernels take half of it
_LITTLE_MEMORY: Final = 1024 * _MIB
_LEAST_DISK: Final = 200 * _MIB
_LITTLE_DISK: Final = 2048 * _MIB


def check_versions(
    here: Facts, scheduler: SchedulerFacts | str, workers: Mapping[str, Facts | str]
) -> Iterator[Finding]:
    """The same packages everywhere, and everywhere any.

    Parameters
    ----------
    here
        Of the client.
    scheduler, workers
        Facts, or what went wrong when they were asked for.
    """
    nodes = {"scheduler": scheduler, **workers}
    silent = {node: facts for node, facts in nodes.items() if isinstance(facts, str)}
    for reason in sorted({*silent.values()}):
        where = [node for node, each in silent.items() if each == reason]
        yield Finding(
            check="versions",
            level="problem",
            message=f"{several(where)} cannot say what is installed: {reason}",
            fix=f"Install mlfs-dask {here.versions['mlfs-dask']} there, with the packages of "
            "requirements/runtime.lock.",
        )
    found = {n: dict(f.versions) for n, f in nodes.items() if not isinstance(f, str)}
    different = differences(dict(found), here.versions)
    for each in different:
        yield Finding(
            check="versions",
            level="problem" if each.matters else "warning",
            message=str(each),
            fix=f"Install {each.package} {each.here} there, or that version everywhere.",
        )
    if not different and not silent:
        own = here.versions
        yield Finding(
            check="versions",
            level="ok",
            message=f"mlfs-dask {own['mlfs-dask']}, dask {own['dask']}, numpy {own['numpy']}, "
            f"numba {own['numba']} on client, scheduler and {counted(len(workers), 'worker')}",
        )


def check_processors(here: Facts, workers: Mapping[str, Facts]) -> Iterator[Finding]:
    """One type of processor, else last bits may differ.

    Parameters
    ----------
    here, workers
        Facts of the client and the workers.
    """
    kinds: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for node, facts in {"client": here, **workers}.items():
        blas = sorted({pool.architecture for pool in facts.pools if pool.architecture})
        kinds[(facts.processor, *blas)].append(node)
    if len(kinds) == 1:
        (kind,) = kinds
        yield Finding(check="processors", level="ok", message=f"all {_in_words(kind)}")
        return
    named = "; ".join(f"{_in_words(kind)}: {several(nodes)}" for kind, nodes in kinds.items())
    yield Finding(
        check="processors",
        level="warning",
        message=f"several types, so scores agree to ten digits but not to the last bit: {named}",
        fix="Use machines of one type where bits matter, with no OPENBLAS_CORETYPE or the same.",
    )


def _in_words(kind: Sequence[str | None]) -> str:
    names = [name or "unknown" for name in kind]
    return names[0] + (f" (BLAS for {', '.join(names[1:])})" if names[1:] else "")


def check_threads(live: Live, workers: Mapping[str, Facts]) -> Iterator[Finding]:
    """No more threads on a machine than it has cores.

    Parameters
    ----------
    live
        The cluster.
    workers
        Facts of its workers.
    """
    crowded = False
    for host, addresses in _by_host(workers).items():
        slots = {w.address: w.threads for w in live.workers if w.address in addresses}
        cores = max(workers[address].cores for address in addresses)
        if sum(slots.values()) > cores:
            crowded = True
            yield Finding(
                check="threads",
                level="warning",
                message=f"{host}: workers take {counted(sum(slots.values()), 'task')} at once, on "
                f"{counted(cores, 'core')}",
                fix="Start fewer workers there, or with fewer threads (--nthreads).",
            )
        many = {
            f"{pool.library} {pool.threads}"
            for address in addresses
            for pool in workers[address].pools
            if pool.threads > 1 and pool.threads * sum(slots.values()) > cores
        }
        if many:
            crowded = True
            yield Finding(
                check="threads",
                level="warning",
                message=f"{host}: libraries have threads besides the workers' own: {several(many)}",
                fix="Start workers with OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "
                "OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1.",
            )
    if workers and not crowded:
        yield Finding(check="threads", level="ok", message="no more threads than cores anywhere")


def check_memory(live: Live, workers: Mapping[str, Facts]) -> Iterator[Finding]:
    """Each worker has a limit, large enough; together they fit into their machine.

    Parameters
    ----------
    live
        The cluster.
    workers
        Facts of its workers.
    """
    limits = {worker.address: worker.memory_limit_bytes for worker in live.workers}
    unlimited = [address for address, limit in limits.items() if limit is None]
    if unlimited:
        yield Finding(
            check="memory",
            level="warning",
            message=f"no limit on {several(unlimited)}: the system ends what grows too large",
            fix="Start workers with --memory-limit, a share of the machine's memory.",
        )
    small = {a: limit for a, limit in limits.items() if limit and limit < _LITTLE_MEMORY}
    for address, limit in sorted(small.items()):
        yield Finding(
            check="memory",
            level="problem" if limit < _LEAST_MEMORY else "warning",
            message=f"{address} may use {show_bytes(limit)}; Python, its packages and compiled "
            f"kernels take about {show_bytes(250 * _MIB)} of it",
            fix="Start fewer workers with more memory each.",
        )
    over = {a: f.memory_bytes for a, f in workers.items() if f.memory_bytes < (limits[a] or 0)}
    for address, granted in sorted(over.items()):
        yield Finding(
            check="memory",
            level="problem",
            message=f"Dask grants {address} {show_bytes(limits[address] or 0)}, but its "
            f"container or batch job has {show_bytes(granted)}: the system kills it first",
            fix="Lower --memory-limit to nine tenths of what the process is granted.",
        )
    crowded = False
    for host, addresses in _by_host(workers).items():
        together = sum(limits.get(address) or 0 for address in addresses)
        available = max(workers[address].machine_bytes for address in addresses)
        if together > 1.01 * available:
            crowded = True
            yield Finding(
                check="memory",
                level="problem",
                message=f"{host}: workers may use {show_bytes(together)} together, the machine has "
                f"{show_bytes(available)}: the system kills before Dask spills",
                fix="Lower --memory-limit, or start fewer workers there.",
            )
    if workers and not (unlimited or small or over or crowded):
        least = min(limit for limit in limits.values() if limit)
        yield Finding(check="memory", level="ok", message=f"{show_bytes(least)} or more per worker")


def check_disk(places: Mapping[str, int]) -> Iterator[Finding]:
    """Room where runs are written and workers spill.

    Parameters
    ----------
    places
        What lies there, in words -> free bytes.
    """
    tight = {place: free for place, free in places.items() if free < _LITTLE_DISK}
    for place, free in sorted(tight.items()):
        yield Finding(
            check="disk",
            level="problem" if free < _LEAST_DISK else "warning",
            message=f"{show_bytes(free)} free for {place}",
            fix="Free some space, or name another folder: --runs for runs, --local-directory for "
            "workers.",
        )
    if places and not tight:
        least = show_bytes(min(places.values()))
        yield Finding(
            check="disk", level="ok", message=f"{least} or more free for {several(places)}"
        )


def check_numba(nodes: Mapping[str, Facts]) -> Iterator[Finding]:
    """Kernels load, and what is compiled is kept.

    Parameters
    ----------
    nodes
        Facts of the client and the workers.
    """
    broken = {node: facts.kernels for node, facts in nodes.items() if facts.kernels}
    for reason in sorted({*broken.values()}):
        where = [node for node, each in broken.items() if each == reason]
        yield Finding(
            check="numba",
            level="problem",
            message=f"kernels do not load on {several(where)}: {reason}",
            fix="Set NUMBA_CACHE_DIR to a folder that the process may write to.",
        )
    without = [n for n, f in nodes.items() if f.numba_cache is None and n not in broken]
    if without:
        yield Finding(
            check="numba",
            level="warning",
            message=f"compiled kernels are not kept on {several(without)}: every process compiles "
            "them anew",
            fix="Set NUMBA_CACHE_DIR to a folder that the process may write to.",
        )
    if not broken and not without:
        kept = {str(facts.numba_cache) for facts in nodes.values()}
        yield Finding(check="numba", level="ok", message=f"compiled kernels in {several(kept)}")


def _by_host(workers: Mapping[str, Facts]) -> dict[str, list[str]]:
    hosts: dict[str, list[str]] = defaultdict(list)
    for address, facts in workers.items():
        hosts[facts.host].append(address)
    return dict(sorted(hosts.items()))
