"""HTTP: which address gives which page. Only GET and HEAD, and nothing that a request could name.

Runs are looked up among those that were found in the folders served; no part of a request becomes
part of a path. What pages show is escaped by their templates, and the policy sent along keeps
browsers from running anything but the one script of these pages.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from tornado import web

from mlfs_dask.dashboard.board import Board, NotReadYetError
from mlfs_dask.dashboard.links import MOUNT, base_of
from mlfs_dask.dashboard.listing import STATES
from mlfs_dask.errors import MlfsError

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LONGEST: Final = 200
_NO_BOKEH: Final = (
    "Dask's own pages are not served: they need bokeh, which is not installed where the scheduler "
    "runs. These pages do not."
)


def routes(board: Board, *, prefix: str = "/", dask: str | None) -> list[Any]:
    """Handlers for a tornado application.

    Parameters
    ----------
    board
        What they show.
    prefix
        Of all paths of the scheduler.
    dask
        Path of Dask's own pages, from the folder of these; None where they are not served.
    """
    known = {"board": board, "mount": f"{prefix}{MOUNT}", "dask": dask}
    mount = f"{prefix}{MOUNT}"
    return [
        (rf"{mount}/?", _RunsPage, known),
        (rf"{mount}/runs/?", _ToRuns, known),
        (rf"{mount}/runs/([^/]+)/?", _RunPage, known),
        (rf"{mount}/api/?", _Index, known),
        (rf"{mount}/api/runs/?", _RunsDocument, known),
        (rf"{mount}/api/runs/([^/]+)/?", _RunDocument, known),
        (rf"{mount}/style\.css", _Style, known),
        (rf"{mount}/refresh\.js", _Script, known),
        (rf"{mount}/.*", _Unknown, known),
    ]


class _Handler(web.RequestHandler):
    """Read-only, with headers that keep a browser from doing more than show."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def initialize(self, board: Board, mount: str, dask: str | None) -> None:
        self.board = board
        self._mount = mount
        self._dask = dask

    async def prepare(self) -> None:
        """Wait for the pages: they are loaded by a thread while the scheduler starts."""
        self.pages = await self.board.pages()

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    @property
    def frame(self) -> Any:
        base = base_of(self.request.path[len(self._mount) :])
        return self.pages.Frame(base=base, dask=self._dask, note="" if self._dask else _NO_BOKEH)

    async def head(self, *words: str) -> None:
        await self.get(*words)

    @abstractmethod
    async def get(self, *words: str) -> None:
        """Answer with a page, a document or a file."""

    async def page(self, render: Callable[[], str]) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(await self.board.make(lambda: render().encode("utf-8", "replace")))

    async def document(self, make: Callable[[], Any]) -> None:
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(await self.board.make(lambda: self.pages.as_json(make())))

    async def say(self, status: int, title: str, text: str, *, refresh: int = 0) -> None:
        self.set_status(status)
        if refresh:
            self.set_header("Retry-After", str(refresh))
        frame = self.frame
        await self.page(lambda: self.pages.message_page(title, text, frame, refresh=refresh))

    async def the_run(self, key: str) -> Any:
        """The run that is asked for; None if an answer was given instead."""
        try:
            drawn = await self.board.run(key)
        except NotReadYetError:
            await self.say(
                503, "One moment", "This run has a long journal: it is being read.", refresh=1
            )
        except MlfsError as error:
            await self.say(500, "Damaged", error.message)
        except OSError as error:
            await self.say(500, "Not readable", f"A file of this run: {error.strerror}.")
        else:
            if drawn is not None:
                return drawn
            await self.say(
                404, "No such run", "There is no run of this name in the folders served."
            )
        return None

    def asked(self) -> Any:
        """What part of the list is asked for; what makes no sense counts as not said."""
        state = self.get_query_argument("state", "")
        page = self.get_query_argument("page", "1")
        return self.pages.Asked(
            state=state if state in STATES else "",
            text=self.get_query_argument("text", "")[:_LONGEST],
            page=max(1, int(page)) if page.isdecimal() and len(page) < 9 else 1,
        )

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say what went wrong in a word; how is for the log only."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code} {self._reason}\n")


class _RunsPage(_Handler):
    async def get(self, *words: str) -> None:
        listing = await self.board.fresh_listing()
        cluster, asked, frame = self.board.cluster(), self.asked(), self.frame
        await self.page(lambda: self.pages.runs_page(listing, cluster, asked, frame))


class _ToRuns(_Handler):
    async def get(self, *words: str) -> None:
        self.redirect(self.frame.base, permanent=False)


class _RunPage(_Handler):
    async def get(self, *words: str) -> None:
        drawn = await self.the_run(words[0])
        if drawn is not None:
            cluster, frame = self.board.cluster(), self.frame
            await self.page(lambda: self.pages.run_page(drawn, cluster, frame))


class _Index(_Handler):
    async def get(self, *words: str) -> None:
        await self.document(lambda: {"documents": ["runs", "runs/RUN"]})


class _RunsDocument(_Handler):
    async def get(self, *words: str) -> None:
        listing = await self.board.fresh_listing()
        cluster, asked = self.board.cluster(), self.asked()
        await self.document(lambda: self.pages.runs_document(listing, cluster, asked))


class _RunDocument(_Handler):
    async def get(self, *words: str) -> None:
        drawn = await self.the_run(words[0])
        if drawn is not None:
            cluster = self.board.cluster()
            await self.document(lambda: self.pages.run_document(drawn, cluster))

    async def say(self, status: int, title: str, text: str, *, refresh: int = 0) -> None:
        self.set_status(status)
        if refresh:
            self.set_header("Retry-After", str(refresh))
        await self.document(lambda: {"error": {"title": title, "message": text}})


class _File(_Handler):
    """One of the two files that pages load: small, and the same until the package changes."""

    kind = ""

    async def get(self, *words: str) -> None:
        text = await self.board.make(self.text)
        self.set_header("Content-Type", f"{self.kind}; charset=utf-8")
        self.set_header("Cache-Control", "no-cache")
        self.set_header("Etag", f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"')
        if self.check_etag_header():
            self.set_status(304)
            self.finish()
        else:
            self.finish(text)

    @abstractmethod
    def text(self) -> str:
        """What the file holds."""


class _Style(_File):
    kind = "text/css"

    def text(self) -> str:
        return str(self.pages.style_sheet())


class _Script(_File):
    kind = "text/javascript"

    def text(self) -> str:
        return str(self.pages.script())


class _Unknown(_Handler):
    async def get(self, *words: str) -> None:
        await self.say(404, "No such page", "There is no page at this address.")
