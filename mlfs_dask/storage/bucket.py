"""Requests to one bucket of an object storage that speaks S3, through obstore.

What a server answers may repeat keys and signatures, so its words never get into a message of
ours, and no exception of obstore is kept as a cause.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mlfs_dask.errors import BucketError, MachineError
from mlfs_dask.storage.endpoint import SETTINGS, endpoint, import_obstore, region

if TYPE_CHECKING:
    from obstore.store import ClientConfig

T = TypeVar("T")

SCHEME: Final = "s3://"
_FIRST_RETRIES: Final = 2
_FIRST_ATTEMPTS: Final = 3
_RETRIES: Final = 8
_ATTEMPTS: Final = 4  # for answers that break off in the middle, which obstore does not ask anew
_RETRIED: Final = re.compile(r"after [1-9]\d* retries")
_SECONDS_BETWEEN: Final = 0.25
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")


class Entry(NamedTuple):
    """One object.

    Attributes
    ----------
    key
        Its name within the bucket.
    size
        In bytes.
    modified
        When it was put, by the clock of the server.
    """

    key: str
    size: int
    modified: datetime


class Bucket:
    """One bucket; safe to use from several threads.

    Parameters
    ----------
    name
        Of the bucket.

    Raises
    ------
    BucketError
        obstore is not installed; the settings are wrong; the server does not answer, knows no such
        bucket or refuses the keys.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._endpoint = endpoint()
        self._obstore = import_obstore()
        first = self._client("", _FIRST_RETRIES, {"connect_timeout": "3s", "timeout": "15s"})
        # A name that nobody has: asks for the bucket and the keys, and brings nothing back.
        self._contact(lambda: self._obstore.list(first, f".mlfs-{os.getpid()}").collect())
        self.objects = self._client("", _RETRIES)

    def get(self, key: str) -> bytes:
        """Content of an object.

        Parameters
        ----------
        key
            Its name.

        Raises
        ------
        FileNotFoundError
            There is none.
        """
        return bytes(self._ask("read", key, lambda: self._obstore.get(self.objects, key).bytes()))

    def facts(self, key: str) -> Entry:
        """Size and time of an object.

        Parameters
        ----------
        key
            Its name.

        Raises
        ------
        FileNotFoundError
            There is none.
        """
        return _entry(self._ask("look at", key, lambda: self._obstore.head(self.objects, key)))

    def put(self, key: str, content: bytes | Path) -> None:
        """Write an object, whole; replaces what is there.

        Parameters
        ----------
        key
            Its name.
        content
            Bytes, or a file to be sent.
        """
        self._ask("write", key, lambda: self._obstore.put(self.objects, key, content))

    def create(self, key: str, content: bytes) -> None:
        """Write an object that is not there yet; of several writers one succeeds.

        Parameters
        ----------
        key
            Its name.
        content
            Bytes that no other writer would write.

        Raises
        ------
        FileExistsError
            It is there, with other content.
        """

        def request() -> None:
            try:
                self._obstore.put(self.objects, key, content, mode="create")
            except self._obstore.exceptions.AlreadyExistsError:
                # Perhaps by ourselves, when the answer to an earlier attempt got lost.
                if bytes(self._obstore.get(self.objects, key).bytes()) != content:
                    raise FileExistsError(errno.EEXIST, "exists", self.url(key)) from None

        self._ask("write", key, request)

    def delete(self, key: str) -> None:
        """Delete an object, if it is there.

        Parameters
        ----------
        key
            Its name.
        """
        try:
            self._ask("delete", key, lambda: self._obstore.delete(self.objects, key))
        except FileNotFoundError:
            return

    def below(self, prefix: str) -> Iterator[Entry]:
        """All objects below a prefix, by key.

        Parameters
        ----------
        prefix
            Without a slash at its end.
        """
        listed = self._ask(
            "list", prefix, lambda: self._obstore.list(self.objects, prefix or None).collect()
        )
        yield from sorted(map(_entry, listed))

    def any_below(self, prefix: str) -> bool:
        """Whether there is any object below a prefix.

        Parameters
        ----------
        prefix
            Without a slash at its end.
        """
        listed = self._ask(
            "list",
            prefix,
            lambda: next(self._obstore.list(self.objects, prefix or None, chunk_size=1), ()),
        )
        return bool(listed)

    def children(self, prefix: str) -> list[str]:
        """Keys and prefixes directly below a prefix, sorted.

        Parameters
        ----------
        prefix
            Without a slash at its end.
        """
        listed = self._level(prefix)
        keys = [entry["path"] for entry in listed["objects"]]
        return sorted({*keys, *(found.rstrip("/") for found in listed["common_prefixes"])})

    def directly_below(self, prefix: str) -> list[Entry]:
        """Objects directly below a prefix, by key, without what lies deeper.

        Parameters
        ----------
        prefix
            Without a slash at its end.
        """
        return sorted(map(_entry, self._level(prefix)["objects"]))

    def _level(self, prefix: str) -> Any:
        listing = self._obstore.list_with_delimiter
        return self._ask("list", prefix, lambda: listing(self.objects, prefix or None))

    def zarr_objects(self, prefix: str) -> Any:
        """Client for Zarr, whose keys begin at a prefix.

        Parameters
        ----------
        prefix
            Without a slash at its end.
        """
        return self._client(prefix, _RETRIES)

    async def keys_below(self, objects: Any, prefix: str) -> list[str]:
        """Keys below a prefix, as a client for Zarr sees them.

        Parameters
        ----------
        objects
            As `zarr_objects` gave it.
        prefix
            Below its own.
        """
        found = await self.patiently(
            "list", prefix, lambda: self._obstore.list(objects, prefix).collect_async()
        )
        return [entry["path"] for entry in found]

    def url(self, key: str) -> str:
        """Address of an object, for messages.

        Parameters
        ----------
        key
            Its name.
        """
        return f"{SCHEME}{self.name}/{key}" if key else f"{SCHEME}{self.name}"

    def _fault(self, doing: str, key: str, error: Exception) -> Exception:
        """What an exception of obstore means, without its words; MachineError: may be tried again.

        It is raised outside the except clause, so that it does not carry the other one along.
        """
        text = str(error)
        code = _match(_CODE, text)
        if code == "NoSuchBucket":
            return BucketError(
                f"there is no bucket {self.name!r} at {self._where}",
                hint=f"Make it, or give another address. {SETTINGS}",
            )
        if isinstance(error, FileNotFoundError):
            return FileNotFoundError(errno.ENOENT, "no such object", self.url(key))
        status = _match(_STATUS, text)
        if status in ("401", "403"):
            reason = code or ("the keys are not allowed to" if status == "403" else "no valid keys")
            return BucketError(
                f"{self._where} refuses to {doing} {self.url(key)}: {reason}",
                hint="Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do.",
            )
        reason = " ".join(filter(None, (f"status {status}" if status else "no answer", code)))
        return MachineError(
            f"cannot {doing} {self.url(key)} at {self._where}: {reason}",
            hint="The storage did not answer well, in several attempts.",
            path=self.url(key),
        )

    @property
    def _where(self) -> str:
        return self._endpoint or "Amazon S3"

    def _client(self, prefix: str, retries: int, patience: ClientConfig | None = None) -> Any:
        from obstore.store import S3Store

        options: ClientConfig = {"connect_timeout": "5s", "timeout": "60s", **(patience or {})}
        settings: dict[str, Any] = {}
        if self._endpoint:
            settings["endpoint"] = self._endpoint
            options["allow_http"] = self._endpoint.startswith("http://")
        found = region()
        if found or self._endpoint:
            settings["region"] = found or "us-east-1"
        return S3Store(
            self.name,
            prefix=prefix or None,
            virtual_hosted_style_request=not self._endpoint and "." not in self.name,
            client_options=options,
            retry_config={"max_retries": retries, "retry_timeout": timedelta(seconds=120)},
            **settings,
        )

    def _contact(self, request: Callable[[], Any]) -> None:
        """The first request: what fails is for the user to correct."""
        for _ in range(_FIRST_ATTEMPTS):
            try:
                request()
                return
            except (self._obstore.exceptions.BaseError, OSError, ValueError) as error:
                fault, text = self._fault("look into", "", error), str(error)
            if _RETRIED.search(text) or not isinstance(fault, MachineError):
                break
        if "169.254." in text:  # where machines of Amazon's cloud find keys of their own
            raise BucketError(
                f"there are no keys for {self.url('')}",
                hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            )
        if isinstance(fault, BucketError):
            raise fault
        status = _match(_STATUS, text)
        raise BucketError(
            f"{self._where} does not answer as an object storage does, asked for {self.url('')}"
            + (f": status {status}" if status else ""),
            hint=f"Is it running, and reachable from here? {SETTINGS}",
        )

    async def patiently(self, doing: str, key: str, request: Callable[[], Awaitable[T]]) -> T:
        """Do a request of Zarr's; again, a few times, if its answer broke off.

        Parameters
        ----------
        doing, key
            For messages: ``"read"`` and the name of an object.
        request
            Makes what is awaited.

        Raises
        ------
        FileNotFoundError
            No such object.
        BucketError
            The bucket is not there, or it refuses the keys.
        MachineError
            The server did not answer, or not well, several times.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await request()
            except (self._obstore.exceptions.BaseError, FileNotFoundError) as error:
                fault = self._fault(doing, key, error)
                again = isinstance(fault, MachineError) and not _RETRIED.search(str(error))
            if not again or attempt == _ATTEMPTS:
                break
            await asyncio.sleep(_SECONDS_BETWEEN * attempt)
        raise fault

    def _ask(self, doing: str, key: str, request: Callable[[], T]) -> T:
        """Do a request; again, a few times, if its answer broke off."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return request()
            except (self._obstore.exceptions.BaseError, FileNotFoundError) as error:
                fault = self._fault(doing, key, error)
                again = isinstance(fault, MachineError) and not _RETRIED.search(str(error))
            if not again or attempt == _ATTEMPTS:
                break
            time.sleep(_SECONDS_BETWEEN * attempt)
        raise fault


def bucket(name: str) -> Bucket:
    """The bucket of a name, asked for once per process and settings.

    Parameters
    ----------
    name
        Of the bucket.

    Raises
    ------
    BucketError
        As `Bucket`.
    """
    settings = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    return _bucket(name, settings, os.getpid())  # clients do not survive a fork


@lru_cache(maxsize=16)
def _bucket(name: str, settings: tuple[tuple[str, str], ...], process: int) -> Bucket:
    return Bucket(name)


def _entry(found: Any) -> Entry:
    return Entry(found["path"], found["size"], found["last_modified"])


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None
