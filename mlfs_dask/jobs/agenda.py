"""Which units go together into a task, and which task is ready.

A selection and the curves that judge it make one task while that is short; long units stand alone,
so that they spread over the workers and little is lost with one. Very short chains of a kind share
tasks, all but the first, which goes ahead: estimates may be wrong, and who comes later waits for
what was begun. A curve that needs two selections stands apart from both. What follows a growing
store stands alone and comes before everything else on its data set.

The tasks are those of a plan, which knows no more than estimates. Only where units of a kind turn
out to take several times as long as was thought are tasks of theirs split after all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from mlfs_dask.jobs.estimate import Sizes, seconds
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit

_LONG_SECONDS: Final = 2.0
_SHORT_SECONDS: Final = 0.25
# Tasks are split once their units are seen to take this much longer than would be joined.
_WRONG: Final = 4.0
_Alike: TypeAlias = tuple[str, str, str | None, str | None]


class Agenda:
    """The tasks still to be done, longest first.

    Parameters
    ----------
    job
        Resolved job.
    units
        All its units.
    sizes
        Name of a data set -> its sizes.
    done
        Ids of the units that are finished.
    failed
        Ids of units that failed before and are not tried again; nor is what judges them.
    ahead
        Units that all others of their data sets wait for.

    Attributes
    ----------
    groups : list of tuple of Unit
        Units of each task, longest first.

    Examples
    --------
    An agenda gives a task only when the selections it needs are done::

        while (units := agenda.next()) is not None: ...
        agenda.finish(unit)
    """

    def __init__(
        self,
        job: Job,
        units: Sequence[Unit],
        sizes: Mapping[str, Sizes],
        done: Iterable[str] = (),
        failed: Iterable[str] = (),
        ahead: Sequence[Unit] = (),
    ) -> None:
        self._done = set(done)
        self._failed = set(failed)
        self._ahead: dict[str, set[str]] = {}
        for unit in ahead:
            self._ahead.setdefault(unit.dataset, set()).add(unit.id)
        settled = self._done | self._failed
        cost = {unit.id: seconds(job, unit, sizes[unit.dataset]) for unit in units}
        groups: list[tuple[Unit, ...]] = []
        for left in self._parted([unit for unit in units if unit.id not in settled]):
            groups += _grouped(left, cost)
        weight = {id(group): sum(cost[unit.id] for unit in group) for group in groups}
        self.groups = sorted(groups, key=lambda group: -weight[id(group)])
        self._cost = cost
        self._took: dict[_Alike, tuple[float, float]] = {}
        self._ahead_of = _first_of_their_kind(self.groups)
        self._waiting = list(self.groups)

    def __len__(self) -> int:
        return len(self._waiting)

    def _parted(self, units: Sequence[Unit]) -> list[list[Unit]]:
        """Units that may share tasks: those that come ahead don't, nor those that wait for them."""
        parts: dict[str, list[Unit]] = {}
        for unit in units:
            ahead = self._ahead.get(unit.dataset, set())
            key = "" if not ahead else unit.id if unit.id in ahead else f"on {unit.dataset}"
            parts.setdefault(key, []).append(unit)
        return list(parts.values())

    def add(self, unit: Unit) -> None:
        """Have a unit done once more, by itself.

        Parameters
        ----------
        unit
            Handed out before, and not finished.
        """
        self._waiting.append((unit,))

    def next(self) -> tuple[Unit, ...] | None:
        """Units of the next task that is ready; None if none is (or none is left)."""
        position = 0
        while position < len(self._waiting):
            group = self._waiting[position]
            if not self._is_ready(group):
                position += 1
            elif len(parts := self._parts(group)) == 1:
                return self._waiting.pop(position)
            else:  # the rest is looked at again when more is known, in the order of the units
                first = {unit.id for unit in parts[0]}
                rest = tuple(unit for unit in group if unit.id not in first)
                self._waiting[position : position + 1] = [parts[0], rest]
        return None

    def _parts(self, group: tuple[Unit, ...]) -> list[tuple[Unit, ...]]:
        """A group as it is, or as it would be made by what is known now if that is far from it."""
        if sum(map(self._seconds, group)) <= _WRONG * _most_seconds(group):
            return [group]
        return _grouped(group, {unit.id: self._seconds(unit) for unit in group})

    def _seconds(self, unit: Unit) -> float:
        took, estimated = self._took.get(_alike(unit), (1.0, 1.0))
        return self._cost[unit.id] * took / estimated

    def seconds(self, units: Iterable[Unit]) -> float:
        """Estimated time of units on one core, by what such units took where that is known.

        Parameters
        ----------
        units
            Any of the job's.
        """
        return sum(self._seconds(unit) for unit in units)

    def n_ready(self) -> int:
        """Tasks that could be handed out now."""
        return sum(self._is_ready(group) for group in self._waiting)

    def finish(self, unit: Unit, *, seconds: float = 0.0, failed: bool = False) -> None:
        """Note that a unit is done or has failed.

        Parameters
        ----------
        unit
            The unit.
        seconds
            How long it took; 0 if that says nothing about others.
        failed
            Whether it left no result; what judges it then fails too.
        """
        if seconds > 0.0:
            took, estimated = self._took.get(_alike(unit), (0.0, 0.0))
            self._took[_alike(unit)] = took + seconds, estimated + self._cost[unit.id]
        (self._failed if failed else self._done).add(unit.id)

    def _is_ready(self, group: tuple[Unit, ...]) -> bool:
        own = {unit.id for unit in group}
        first = self._ahead_of.get(_kind(group), own)
        return (first <= own or first <= self._done | self._failed) and all(
            self._is_known(unit, own) for unit in group
        )

    def _is_known(self, unit: Unit, own: set[str]) -> bool:
        ahead = self._ahead.get(unit.dataset, set())
        needed = {needed.id for needed in unit.needs} - own
        if unit.id not in ahead:
            needed |= ahead
        return needed <= self._done | self._failed


def _alike(unit: Unit) -> _Alike:
    return unit.kind, unit.dataset, unit.selector, unit.classifier


def _kind(group: Sequence[Unit]) -> frozenset[_Alike]:
    return frozenset(map(_alike, group))


def _most_seconds(group: Sequence[Unit]) -> float:
    """The most that is joined: one chain of a selection and its curves, or several short ones."""
    return _LONG_SECONDS if len(_chains(group)) == 1 else 2 * _SHORT_SECONDS


def _first_of_their_kind(groups: Sequence[tuple[Unit, ...]]) -> dict[frozenset[_Alike], set[str]]:
    """Units that groups of several chains wait for, by the kind of the chains."""
    found: dict[frozenset[_Alike], set[str]] = {}
    joined = {_kind(group) for group in groups if len(_chains(group)) > 1}
    for group in groups:
        if _kind(group) in joined and len(_chains(group)) == 1:
            found.setdefault(_kind(group), {unit.id for unit in group})
    return found


def _chains(units: Sequence[Unit]) -> list[list[Unit]]:
    chains: dict[str, list[Unit]] = {}
    for unit in units:
        # Tasks wait for tasks before them only, so none waits for one that waits for it.
        root = unit.needs[0] if len(unit.needs) == 1 else unit
        chains.setdefault(root.id, []).append(unit)
    return list(chains.values())


def _grouped(units: Sequence[Unit], cost: Mapping[str, float]) -> list[tuple[Unit, ...]]:
    groups: list[tuple[Unit, ...]] = []
    short: dict[frozenset[_Alike], tuple[list[Unit], float]] = {}
    for chain in _chains(units):
        kind, total = _kind(chain), sum(cost[unit.id] for unit in chain)
        if total > _LONG_SECONDS:
            groups += [(unit,) for unit in chain]
        elif total > _SHORT_SECONDS or kind not in short:
            groups.append(tuple(chain))
            short.setdefault(kind, ([], 0.0))
        else:
            joined, seconds = short[kind]
            joined, seconds = [*joined, *chain], seconds + total
            if seconds > _SHORT_SECONDS:
                groups.append(tuple(joined))
                joined, seconds = [], 0.0
            short[kind] = joined, seconds
    return groups + [tuple(joined) for joined, _ in short.values() if joined]
