"""Errors and warnings that users and callers of mlfs_dask meet.

One class per reaction that a handler may have::

    MlfsError
    ├── InputError (ValueError)             arguments or arrays the caller can correct     exit 2
    │   ├── DataFileError                   a data file; facts: file, line, column         exit 2
    │   ├── MissingValuesError              NaN where a method has no rule for it          exit 2
    │   ├── StoreError                      not a store, or one of another format          exit 2
    │   │   └── StoreCorruptError           a store that lost or changed bytes             exit 2
    │   ├── JobFileError                    all problems of a job file in one report       exit 2
    │   ├── PlanError                       a plan that cannot fit                         exit 2
    │   ├── RunFolderError                  a run folder that cannot be continued          exit 2
    │   ├── ClusterError                    a cluster that is not there or not fit         exit 2
    │   └── BucketError                     object storage that is not there or refuses    exit 2
    ├── NotFoundError (FileNotFoundError)   no such store, run or file                     exit 2
    ├── PluginError (LookupError)           unknown or clashing registry name              exit 2
    ├── MachineError (OSError)              disk full, permission denied on writing        exit 1
    ├── RunInterruptedError (RuntimeError)  stopped; the run can be resumed                exit 1
    ├── LeaseLostError (RuntimeError)       another process took over the run              exit 1
    └── WorkersLostError (CancelledError)   a cluster lost data with its workers           exit 1

Each instance carries its facts as attributes of ``facts`` and survives pickling, since workers
raise them across processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, ClassVar, Self

__all__ = [
    "BucketError",
    "ClusterError",
    "DataFileError",
    "DegenerateInputWarning",
    "InputError",
    "JobFileError",
    "LeaseLostError",
    "MachineError",
    "MissingValuesError",
    "MlfsError",
    "MlfsWarning",
    "NotFoundError",
    "PlanError",
    "PluginError",
    "RunFolderError",
    "RunInterruptedError",
    "StoreCorruptError",
    "StoreError",
    "WorkersLostError",
]


_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*:/{1,2})[^\s/@'\"]+@")
_SIGNATURES = re.compile(
    r"([?&][\w.-]*(?:signature|credential|token|secret|password|access_key)[\w.-]*=)[^\s&'\"]+",
    re.IGNORECASE,
)


def without_credentials(text: str) -> str:
    """A text whose addresses have lost user name, password and signature.

    Parameters
    ----------
    text
        Anything that may be shown or logged.

    Examples
    --------
    >>> without_credentials("nothing at s3://me:secret@host/stores")
    'nothing at s3://***@host/stores'
    >>> without_credentials("https://host/x?X-Amz-Signature=123abc&page=2")
    'https://host/x?X-Amz-Signature=***&page=2'
    """
    return _SIGNATURES.sub(r"\1***", _CREDENTIALS.sub(r"\1***@", text))


class MlfsError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    message
        What was given and what was expected, in one sentence. Credentials in it are left out.
    hint
        What to do about it.
    **facts
        Machine-readable details (file, line, key, ...), kept in ``facts``.
    """

    code: ClassVar[str] = "mlfs"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        message = without_credentials(message)
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.hint, self.facts)


def _rebuild(
    cls: type[MlfsError], message: str, hint: str | None, facts: dict[str, Any]
) -> MlfsError:
    return cls(message, hint=hint, **facts)


class InputError(MlfsError, ValueError):
    """An argument or array that the caller can correct."""

    code = "input"
    exit_code = 2


class DataFileError(InputError):
    """A data file that cannot be read as its format."""

    code = "data-file"

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str],
        *,
        problem: str,
        line: int | None = None,
        column: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> Self:
        """Build the error with the place in front, as compilers do: ``file:line:column: problem``.

        Parameters
        ----------
        path
            The file.
        problem
            What was found there.
        line, column
            1-based position, where known.
        expected
            What would have been right.
        hint
            What to do.
        """
        place = str(path)
        if line is not None:
            place += f":{line}"
            if column is not None:
                place += f":{column}"
        text = f"{place}: {problem}"
        if expected is not None:
            text += f"; expected {expected}"
        return cls(text, hint=hint, file=str(path), line=line, column=column, expected=expected)


class MissingValuesError(InputError):
    """Missing values given to a method that has no rule for them."""

    code = "missing-values"


class StoreError(InputError):
    """A folder that is no store, or one of an unknown format."""

    code = "store"


class StoreCorruptError(StoreError):
    """A store that lost or changed bytes since it was written."""

    code = "store-corrupt"


class JobFileError(InputError):
    """All problems of a job file in one report.

    ``facts["problems"]`` lists them; each names key path, value, what is allowed, the nearest key.
    """

    code = "job-file"

    @property
    def problems(self) -> Sequence[str]:
        """The problems, in file order."""
        found: Sequence[str] = self.facts.get("problems", (self.message,))
        return found


class PlanError(InputError):
    """A plan that cannot fit the limits given."""

    code = "plan"


class RunFolderError(InputError):
    """A run folder that was changed, belongs to another job, or is being written by another."""

    code = "run-folder"


class ClusterError(InputError):
    """A cluster that cannot be reached, must not be trusted, or runs other versions."""

    code = "cluster"


class BucketError(InputError):
    """A bucket of an object storage that cannot be reached, is not there, or refuses the keys."""

    code = "bucket"


class NotFoundError(MlfsError, FileNotFoundError):
    """No such store, run or file."""

    code = "not-found"
    exit_code = 2


class PluginError(MlfsError, LookupError):
    """An unknown registry name, or one that two distributions claim."""

    code = "plugin"
    exit_code = 2


class MachineError(MlfsError, OSError):
    """A fault of the machine: disk full, no permission to write, I/O error."""

    code = "machine"
    exit_code = 1


class RunInterruptedError(MlfsError, RuntimeError):
    """A run that was stopped and can be resumed."""

    code = "interrupted"
    exit_code = 1


class LeaseLostError(MlfsError, RuntimeError):
    """Another process took over the run that this one was writing."""

    code = "lease_lost"
    exit_code = 1


class WorkersLostError(MlfsError, CancelledError):
    """A cluster whose workers were lost with data that can't be had again."""

    code = "workers-lost"
    exit_code = 1


class MlfsWarning(UserWarning):
    """Base of all warnings of mlfs_dask."""


class DegenerateInputWarning(MlfsWarning):
    """Input that is allowed but leaves a method little to work with."""
