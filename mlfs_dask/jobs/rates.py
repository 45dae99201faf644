"""How fast a machine does each kind of work: as shipped, or as ``mlfs doctor --calibrate`` saw.

Costs are written down in seconds of the machine that the package was measured on. A calibration
holds, for each road, how many times longer this machine takes, and what does not depend on methods:
starting processes, handing out a task, moving bytes.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from mlfs_dask import __version__
from mlfs_dask.graphs.executor import available_cores
from mlfs_dask.storage.atomic import machine_faults, partial_path, write_whole
from mlfs_dask.wording import counted

FORMAT: Final = 1
COMMAND: Final = "mlfs doctor --calibrate"
_MOST: Final = 1e15  # of any rate: more is a damaged file, and sums of it would overflow


class Machine(Struct, frozen=True):
    """What a calibration holds for.

    Attributes
    ----------
    host
        Name of the machine.
    processor
        As the compiler of the kernels names it.
    cores
        That a process may use.
    """

    host: str
    processor: str
    cores: int


class Rates(Struct, frozen=True, kw_only=True):
    """Speeds of a machine; the defaults are those of the machine the package was measured on.

    Attributes
    ----------
    slower
        Road -> how many times longer it takes here than costs say.
    start_seconds
        Until a command has its packages and kernels.
    unit_seconds
        A unit besides its work: opening the store, writing down the result.
    cluster_seconds
        Until worker processes are there, and until they have ended.
    task_seconds
        The scheduler's part of a task, and the client's: one after the other.
    message_seconds
        Their part of a message to a worker, which sends tasks on and fetches results, however many.
    worker_seconds
        What a worker does for a task besides its work.
    round_seconds
        From handing out tasks to having the first result, besides work.
    reply_seconds
        From a result until the worker has the next task, which is asked for after it, besides the
        work of others: Dask holds messages back for some milliseconds to send more at a time.
    shared_reply_seconds
        The same if tasks depend on a value that was shared.
    crowded
        How much longer handing out tasks takes while all cores of a machine have workers that
        compute, as a share.
    upkeep
        What a worker's process does beside its task, as a share of the task's time.
    background
        Cores that scheduler, client and nannies take while workers compute, besides tasks.
    bytes_per_second
        Of results, as scheduler and client pass them on.
    read_bytes_per_second
        Of a store, decoded, on one core.
    process_bytes
        A process with packages and kernels, before it has data.
    """

    slower: dict[str, float] = field(default_factory=dict)
    start_seconds: float = 1.5
    unit_seconds: float = 0.02
    cluster_seconds: float = 4.0
    task_seconds: float = 0.0008
    message_seconds: float = 0.0007
    worker_seconds: float = 0.0007
    round_seconds: float = 0.008
    reply_seconds: float = 0.007
    shared_reply_seconds: float = 0.007
    crowded: float = 1.5
    upkeep: float = 0.02
    background: float = 0.02
    bytes_per_second: float = 1.4e9
    read_bytes_per_second: float = 8e8
    process_bytes: int = 250 * 2**20

    def seconds(self, road: str, at_reference: float) -> float:
        """Seconds on this machine.

        Parameters
        ----------
        road
            Whose cost it is.
        at_reference
            Seconds on the machine that the package was measured on.

        Examples
        --------
        >>> Rates(slower={"spec": 2.0}).seconds("spec", 3.0), Rates().seconds("spec", 3.0)
        (6.0, 3.0)
        """
        return self.slower.get(road, self.slower.get("", 1.0)) * at_reference


class Calibration(Struct, frozen=True, kw_only=True):
    """A calibration as it is kept.

    Attributes
    ----------
    format
        Of the file.
    machine, version, date
        What was measured, with which version of the package, and when.
    rates
        What came out.
    """

    format: int
    machine: Machine
    version: str
    date: str
    rates: Rates


class Known(Struct, frozen=True):
    """Rates to plan by, and where they are from.

    Attributes
    ----------
    rates
        The rates.
    source
        In words.
    note
        Why a calibration was passed over; empty if none was.
    """

    rates: Rates
    source: str
    note: str = ""


def this_machine() -> Machine:
    """The machine this process runs on.

    Examples
    --------
    >>> this_machine().cores >= 1
    True
    """
    return Machine(platform.node(), _processor(), available_cores())


def _processor() -> str:
    """Model of the processor, by the system: asking the compiler would load it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def calibration_file() -> Path:
    """Where the calibration lies: ``$MLFS_CALIBRATION``, else in the user's cache folder."""
    own = os.environ.get("MLFS_CALIBRATION")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "mlfs-dask" / "calibration.json"


def known_rates(file: Path | None = None) -> Known:
    """The rates of this machine's calibration, or those that come with the package.

    A file that is damaged, or of another machine or version, is passed over with a note.

    Parameters
    ----------
    file
        Default: `calibration_file`.
    """
    path = file or calibration_file()
    try:
        modified = path.stat().st_mtime_ns
    except OSError:
        return Known(Rates(), f"rates of another machine; {COMMAND} measures this one")
    return _read(path, modified, this_machine())


@lru_cache(maxsize=4)
def _read(path: Path, modified: int, machine: Machine) -> Known:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (OSError, msgspec.MsgspecError) as error:
        return _passed_over(path, f"cannot be read ({error})")
    if found.format != FORMAT:
        return _passed_over(path, f"has format {found.format}, not {FORMAT}")
    if found.version != __version__:
        return _passed_over(path, f"was made by mlfs-dask {found.version}, this is {__version__}")
    if found.machine != machine:
        return _passed_over(path, f"is of another machine ({_in_words(found.machine)})")
    if not _are_possible(found.rates):
        return _passed_over(path, "holds rates that are not positive, or that no machine has")
    return Known(found.rates, f"calibrated {found.date}")


def _are_possible(rates: Rates) -> bool:
    document: Mapping[str, Any] = msgspec.to_builtins(rates)
    numbers = [value for name, value in document.items() if name != "slower"]
    return all(0.0 < number < _MOST for number in [*numbers, *rates.slower.values()])


def _passed_over(path: Path, why: str) -> Known:
    note = f"{path} {why}: passed over; {COMMAND} makes a new one"
    return Known(Rates(), "rates of another machine", note)


def _in_words(machine: Machine) -> str:
    return f"{machine.host}, {machine.processor}, {counted(machine.cores, 'core')}"


def keep_rates(rates: Rates, date: str, file: Path | None = None) -> Path:
    """Write a calibration of this machine.

    Parameters
    ----------
    rates
        What was measured.
    date
        When, as ISO 8601.
    file
        Default: `calibration_file`.

    Returns
    -------
    Path
        Where it lies.

    Raises
    ------
    MachineError
        The folder cannot be written.
    """
    path = file or calibration_file()
    kept = Calibration(
        format=FORMAT, machine=this_machine(), version=__version__, date=date, rates=rates
    )
    with machine_faults("keep the calibration", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = partial_path(path)
        write_whole(beside, msgspec.json.format(msgspec.json.encode(kept)))
        beside.replace(path)
    return path
