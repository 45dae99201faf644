"""Signals that end a run: the first asks to stop after the step in hand, the second stops at once.

They are Ctrl-C, SIGTERM and SIGHUP, the end of the terminal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.signal: str | None = None
        self.insists = False

    def __call__(self) -> bool:
        """True once a signal came."""
        return self.signal is not None


@contextmanager
def stop_on_signals(request: StopRequest, tell: Callable[[str], None]) -> Iterator[None]:
    """Catch SIGINT, SIGTERM and SIGHUP while the block runs.

    SIGHUP stays ignored where it is: under `nohup`.

    Parameters
    ----------
    request
        Becomes true once a signal came; a second one raises KeyboardInterrupt. Any more are passed
        over: what the second one set going is the end already, and must not be torn apart.
    tell
        Called with the name of the first signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if request.insists:
            return
        if request():
            request.insists = True
            raise KeyboardInterrupt
        request.signal = signal.Signals(number).name
        tell(request.signal)

    caught = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        caught.append(signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in caught}
    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
