"""``mlfs watch``: a run as it goes, in a terminal."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.rundir import RunFolder
    from mlfs_dask.storage.places import Place

_LOOK_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 60.0
_SHOWN: Final = 8
_OVER: Final = ("done", "partial", "failed", "cancelled", "interrupted")


@click.command()
@click.argument("name", metavar="RUN")
@runs_option
@json_option
def watch(name: str, runs: Place, as_json: bool) -> None:
    """Follow a run until it ends: units, selections in hand, incidents. Ctrl-C stops looking only.

    RUN is an id, a unique beginning of one, or a path.

    \b
    Example:
      mlfs watch quickstart
    """
    import sys

    from mlfs_dask.jobs.rundir import find_run

    folder = find_run(name, runs)
    seen = Seen(folder)
    try:
        if sys.stdout.isatty() and not as_json:
            _draw(seen)
        else:
            _print(seen, aside=as_json)
    except KeyboardInterrupt:
        if not as_json:
            return
    state = folder.read_state()
    if as_json:
        print_json(state)
        return
    click.echo(f"{folder.id}: {state['state']}")
    if state.get("message"):
        click.echo(state["message"])


class Seen:
    """What is known of a run by now; `look` brings it up to date.

    Parameters
    ----------
    folder
        The run.
    """

    def __init__(self, folder: RunFolder) -> None:
        from mlfs_dask.jobs.follow import JournalTail

        self._folder = folder
        self._tail = JournalTail(folder.journal)
        self._started = time.monotonic()
        self._done_before: int | None = None
        self._alone_since: float | None = None
        self.state: dict[str, Any] = {}
        self.in_hand: dict[str, str] = {}
        self.notices: deque[str] = deque(maxlen=_SHOWN)

    def look(self) -> bool:
        """Read what is new; False once the run is over."""
        over = self._folder.owner() is None
        self.state = self._folder.read_state()
        if self._done_before is None:
            self._done_before = self.state["progress"]["done"]
        for event in self._tail.read():
            self._take(event)
        if over and self.state["state"] in _OVER:
            return self._is_awaited()
        self._alone_since = None
        return True

    def _is_awaited(self) -> bool:
        """Whether a cluster that lost the coordinator is likely to start another one yet."""
        from mlfs_dask.jobs.lease import is_awaited

        if self.state["state"] != "interrupted" or not is_awaited(self._folder.path):
            return False
        now = time.monotonic()
        if self._alone_since is None:
            self._alone_since = now
        return now - self._alone_since < _PATIENCE_SECONDS

    def _take(self, event: dict[str, Any]) -> None:
        kind, unit = event["event"], event.get("unit", "")
        if kind == "step":
            last = event["decided"][-1]
            count = event["first"] + len(event["decided"])
            self.in_hand[unit] = f"{counted(count, 'decision')}; the last: {last['reason']}"
        elif kind == "unit":
            self.in_hand.pop(unit, None)
        elif kind == "failed":
            self.in_hand.pop(unit, None)
            self.notices.append(f"failed: {event['what']}: {event['message']}")
        elif kind == "incident":
            self.notices.append(event["message"])

    def headline(self) -> str:
        """State, units, and the time left by the pace since looking began."""
        from mlfs_dask.jobs.sizes import show_seconds

        progress = self.state["progress"]
        done, total = progress["done"], progress["total"]
        text = f"{self._folder.id}: {self.state['state']}, {done} of {counted(total, 'unit')}"
        fresh = done - (self._done_before or 0)
        if fresh > 0 and done < total:
            pace = (time.monotonic() - self._started) / fresh
            text += f", about {show_seconds(pace * (total - done))} left"
        return text

    def lines(self) -> list[str]:
        """All there is to show."""
        hand = list(self.in_hand.values())[-_SHOWN:]
        return [
            self.headline(),
            *(f"  in hand: {h}" for h in hand),
            *(f"  ! {n}" for n in self.notices),
        ]


def _print(seen: Seen, *, aside: bool) -> None:
    """A line whenever something changed; on stderr if a document is to follow."""
    shown: list[str] = []
    while True:
        goes_on = seen.look()
        lines = seen.lines()
        for line in lines:
            if line not in shown:
                click.echo(line, err=aside)
        shown = lines
        if not goes_on:
            return
        time.sleep(_LOOK_SECONDS)


def _draw(seen: Seen) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(refresh_per_second=4, transient=True) as live:
        while seen.look():
            live.update(Text("\n".join(seen.lines()), no_wrap=True, overflow="ellipsis"))
            time.sleep(_LOOK_SECONDS)
