"""Where buckets are and how they are reached: settings as for other AWS tools, by the environment.

``AWS_ENDPOINT_URL``, ``AWS_REGION``; and, read by obstore itself, ``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN`` and what machines of Amazon's cloud find.
"""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import urlsplit

from mlfs_dask.errors import BucketError

SETTINGS: Final = "Settings are AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and so on."
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


def endpoint() -> str | None:
    """Address of the server; None for Amazon's own.

    Raises
    ------
    BucketError
        It is no address of a server, or holds keys, which it must not.
    """
    name = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    if name is None:
        return None
    url = os.environ[name].rstrip("/")
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query:
        raise BucketError(
            f"{name} holds a user name, a password or a query",
            hint="Keys are given by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BucketError(
            f"{name} is no address of a server: {url!r}",
            hint="It looks like https://host or http://127.0.0.1:9000.",
        )
    return url


def region() -> str | None:
    """Region of the buckets, if it is set."""
    return next(filter(None, map(os.environ.get, _REGIONS)), None)


def import_obstore() -> Any:
    """The package obstore.

    Raises
    ------
    BucketError
        It is not installed.
    """
    try:
        import obstore
        import obstore.exceptions
    except ImportError:
        raise BucketError(
            "addresses that begin with s3:// need the package obstore, which is not installed",
            hint="Install it with: pip install 'mlfs-dask[s3]'",
        ) from None
    return obstore
