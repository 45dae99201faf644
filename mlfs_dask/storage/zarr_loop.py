"""The end of Zarr's event loop, waited for when the program ends.

Zarr has a thread with an event loop. At the end of a program it stops the loop, waits 0.2 s and
closes it, which fails with a traceback on stderr where the machine is so busy that the thread has
not come to its end by then.
"""

from __future__ import annotations

import atexit

from zarr.core import sync

_PATIENCE_SECONDS = 60.0


def end_loop() -> None:
    """Stop Zarr's event loop, if there is one, and wait until its thread has ended.

    Registered when this module is imported, after Zarr's own function: the last one registered is
    the first one called.
    """
    [loop], [thread] = sync.loop, sync.iothread
    if loop is not None and thread is not None and thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PATIENCE_SECONDS)


atexit.register(end_loop)
