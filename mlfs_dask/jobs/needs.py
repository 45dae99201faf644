"""Whether a job fits the memory its processes may use, and what would if it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mlfs_dask.errors import PlanError
from mlfs_dask.graphs.budget import AMPLE
from mlfs_dask.graphs.executor import available_cores
from mlfs_dask.jobs import estimate
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.sizes import show_bytes
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit

_USABLE: Final = 0.95  # of a process's limit
_USABLE_BY_WORKERS: Final = 0.8  # Dask pauses a worker that holds more, and ends it soon after
_STEP: Final = 64 * 2**20  # limits are recommended in multiples of this
_LEAST_TILE: Final = 64


class Needs:
    """Memory that the largest unit of a job needs.

    Parameters
    ----------
    job, units
        Resolved job, and its units.
    sizes
        Name of a data set -> its sizes.
    rates
        Of this machine.
    workers
        Worker processes; 0: the job's process does it all.
    """

    def __init__(
        self,
        job: Job,
        units: Sequence[Unit],
        sizes: Mapping[str, Sizes],
        rates: Rates,
        workers: int,
    ) -> None:
        self._job, self._sizes, self._process = job, sizes, rates.process_bytes
        self._threads = 1 if workers else available_cores()
        self._usable = _USABLE_BY_WORKERS if workers else _USABLE
        # Folds of a kind are alike, so that one of them stands for all.
        kinds = {(u.kind, u.dataset, u.selector, u.classifier, u.fold is None): u for u in units}
        self._units = list(kinds.values())

    def most(
        self, limit: int | None, tile: int | None = None, sharing: int = 1
    ) -> tuple[int, Unit | None]:
        """Bytes of the largest unit's arrays, and that unit.

        Parameters
        ----------
        limit
            Of the process; blocks follow it. None: ample.
        tile
            Rows of a tile, if they were fewer than they are.
        sharing
            Workers that do each unit together, and read each its part of the tiles.
        """
        found: tuple[int, Unit | None] = (0, None)
        for unit in self._units:
            sizes = self._sizes[unit.dataset]
            if tile is not None:
                sizes = replace(sizes, tile=min(tile, sizes.tile))
            needed = estimate.memory_bytes(self._job, unit, sizes, self._threads, limit, sharing)
            if needed > found[0]:
                found = needed, unit
        return found

    def refuse(self, limit: int) -> PlanError:
        """The error of a limit that is too low, with one that is enough, or with tiles that fit.

        Parameters
        ----------
        limit
            Of the process.
        """
        peak, unit = self.most(limit)
        needed = peak + self._process
        but = f"; only {self._usable:.0%} of the limit may be used" if needed <= limit else ""
        enough, tile = self._enough(limit), self._tile(limit)
        hint = f"Set [run] memory_per_worker to {show_bytes(enough)} or more"
        if tile is not None:
            hint += f", or ingest the data with --tile {tile}"
        return PlanError(
            f"[run] memory_per_worker = {self._job.run.memory_per_worker!r}: a process needs about "
            f"{show_bytes(needed)}, for {unit}{but}",
            hint=f"{hint}.",
            needed=needed,
            enough=enough,
            tile=tile,
        )

    def fits(self, limit: int, tile: int | None = None) -> bool:
        """Whether a process stays below its limit.

        Parameters
        ----------
        limit, tile
            As in `most`.
        """
        return self.most(limit, tile)[0] + self._process <= self._usable * limit

    def _enough(self, limit: int) -> int:
        """The least limit from which on any is enough, found by halving: blocks grow slower.

        Where something is kept from some limit on, a little less may be enough by chance.
        """
        low, high = limit // _STEP, max(1, limit // _STEP) * 2
        while not self.fits(high * _STEP):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.fits(middle * _STEP) else (middle, high)
        above = range(AMPLE // _STEP, high, -1)  # from ample memory on nothing grows
        return next((size + 1 for size in above if not self.fits(size * _STEP)), high) * _STEP

    def _tile(self, limit: int) -> int | None:
        tile = max(sizes.tile for sizes in self._sizes.values()) // 2
        while tile >= _LEAST_TILE:
            if self.fits(limit, tile):
                return tile
            tile //= 2
        return None
