"""A headless Chromium, driven over its DevTools protocol with the web socket of tornado.

It has a profile of its own and makes no background requests. What it said on the console and what
it asked the network for is kept.
"""

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import websocket_connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--remote-debugging-port=0",
)
MESSAGES = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
TIMEOUT = 60.0


def find_chromium():
    """Path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One page of a browser; use as a context manager."""

    def __init__(self, program):
        self._program = program
        self._number = 0
        self.events = []

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._profile = tempfile.mkdtemp(prefix="mlfs-chromium-")
        self._process = subprocess.Popen(
            [self._program, *QUIET, f"--user-data-dir={self._profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = self._wait_for(self._page_address)
            self._socket = self._run(_connect(address))
            for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
                self.call(f"{domain}.enable")
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._kill()

    def _kill(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._loop.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _run(self, work):
        return self._loop.run_until_complete(asyncio.wait_for(work, TIMEOUT))

    def _wait_for(self, look):
        deadline = time.monotonic() + TIMEOUT
        while (found := look()) is None:
            assert self._process.poll() is None, "Chromium ended by itself"
            assert time.monotonic() < deadline, "Chromium did not start in time"
            time.sleep(0.02)
        return found

    def _page_address(self):
        port_file = Path(self._profile) / "DevToolsActivePort"
        lines = port_file.read_text().splitlines() if port_file.exists() else []
        if not lines:
            return None
        pages = self._run(_fetch(f"http://127.0.0.1:{lines[0]}/json/list"))
        sockets = [page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"]
        return sockets[0] if sockets else None

    def call(self, method, **params):
        """One command; returns its result, keeps the events that come meanwhile."""
        self._number += 1
        number = self._number

        async def ask():
            message = {"id": number, "method": method, "params": params}
            await self._socket.write_message(json.dumps(message))
            while True:
                text = await self._socket.read_message()
                assert text is not None, "Chromium closed the connection"
                answer = json.loads(text)
                if answer.get("id") == number:
                    return answer
                self.events.append(answer)

        answer = self._run(ask())
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, file, *, width, scheme="light", media="", scripts=True):
        """Show a file or an address in a window of this width; below 600 px as a phone does."""
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        # The event of one page must not be taken for that of the next: each is waited for.
        address = file if isinstance(file, str) else file.absolute().as_uri()
        for url in ("about:blank", address):
            self.events.clear()
            self.call("Page.navigate", url=url)
            self._wait_for(self._is_loaded)

    def _is_loaded(self):
        self.call("Runtime.evaluate", expression="0")  # events come with answers
        return self.saw("Page.loadEventFired")

    def saw(self, *methods):
        """Events of these kinds since the page was opened; None if there are none."""
        return [e["params"] for e in self.events if e["method"] in methods] or None

    def evaluate(self, expression):
        """Value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def content_width(self):
        """Width that the page takes, beyond the window too."""
        return self.call("Page.getLayoutMetrics")["cssContentSize"]["width"]

    def boxes(self, selector):
        """Left, top, width and height of every element that a CSS selector finds."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        nodes = self.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"]
        return [self._box(node) for node in nodes]

    def _box(self, node):
        corners = self.call("DOM.getBoxModel", nodeId=node)["model"]["border"]
        left, top, right, bottom = corners[0], corners[1], corners[2], corners[5]
        return left, top, right - left, bottom - top

    def click(self, selector):
        """Press the mouse on the first element that a CSS selector finds."""
        left, top, width, height = self.boxes(selector)[0]
        place = {"x": left + min(20, width / 2), "y": top + height / 2, "button": "left"}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, clickCount=1, **place)

    def until(self, expression):
        """Evaluate again and again until the value counts as true; a page that loads has none."""
        deadline = time.monotonic() + TIMEOUT
        asked = {"expression": f"Boolean({expression})", "returnByValue": True}
        while self.call("Runtime.evaluate", **asked)["result"].get("value") is not True:
            assert time.monotonic() < deadline, self.evaluate("document.body.innerText")
            time.sleep(0.05)

    def picture(self, file):
        """Write the whole page as an image."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """The page as printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


async def _connect(address):
    return await websocket_connect(address, max_message_size=1 << 28)


async def _fetch(address):
    return json.loads((await AsyncHTTPClient().fetch(address)).body)
