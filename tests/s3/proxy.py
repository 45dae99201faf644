"""A proxy that hands requests on and fails some of them, as networks and servers do."""

import http.client
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass
class Faults:
    """What goes wrong.

    every
        One request in so many fails: it is refused, broken off before or after it was handed on,
        or its answer is cut short, by turns.
    seconds
        How long each answer takes.
    status, body
        What every request is answered with, if any.
    """

    every: int | None = None
    seconds: float = 0.0
    status: int | None = None
    body: bytes = b""


class FaultyProxy:
    """Proxy before a server; `address` takes the place of the server's."""

    def __init__(self, target, faults):
        self.requests = 0
        self.failed = 0
        self.faults = faults
        self.lock = threading.Lock()
        host, port = urlsplit(target).hostname, urlsplit(target).port
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                time.sleep(proxy.faults.seconds)
                fault = proxy.next_fault()
                if proxy.faults.status is not None:
                    return self.send(proxy.faults.status, {}, proxy.faults.body)
                if fault == "refused":
                    return self.send(503, {}, b"<Error><Code>SlowDown</Code></Error>")
                if fault == "before":
                    return self.break_off()
                connection = http.client.HTTPConnection(host, port, timeout=60)
                connection.request(self.command, self.path, body, dict(self.headers))
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if fault == "after":
                    return self.break_off()
                headers = {
                    name: value
                    for name, value in answer.getheaders()
                    if name.lower() not in ("transfer-encoding", "connection", "date", "server")
                }
                return self.send(answer.status, headers, content, cut=fault == "cut")

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = answer

            def send(self, status, headers, content, cut=False):
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() != "content-length" or self.command == "HEAD":
                        self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content[: len(content) // 2] if cut else content)
                if cut:
                    self.break_off()

            def break_off(self):
                self.close_connection = True
                self.connection.close()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # connections that are broken off, on purpose

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def next_fault(self):
        with self.lock:
            self.requests += 1
            if not self.faults.every or self.requests % self.faults.every:
                return None
            self.failed += 1
            return ("refused", "before", "after", "cut")[self.failed % 4]

    def close(self):
        self._server.shutdown()
        self._server.server_close()
