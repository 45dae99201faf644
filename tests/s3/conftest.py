"""A server that speaks S3, one for all tests, and proxies before it that fail as networks do."""

import os
import subprocess
import sys
import urllib.request
from itertools import count

import pytest

from .proxy import Faults, FaultyProxy

_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()  # until whoever started it ends
"""
_NUMBERS = count(1)
KEY, SECRET = "AKIAOFATEST", "a-secret/of+tests"


@pytest.fixture(scope="session")
def moto():
    """Address of the server."""
    command = [sys.executable, "-W", "ignore", "-c", _SERVER]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    server.stdin.close()
    server.wait(30)


@pytest.fixture
def settings(monkeypatch):
    """Set how buckets are reached, here and in processes that are started."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)

    def use(endpoint, key=KEY, secret=SECRET):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)

    return use


@pytest.fixture
def bucket(moto, settings):
    """Address of a new bucket, with the settings to reach it."""
    settings(moto)
    name = f"bucket{next(_NUMBERS)}"
    urllib.request.urlopen(urllib.request.Request(f"{moto}/{name}", method="PUT")).close()
    return f"s3://{name}"


@pytest.fixture
def faulty(moto, bucket, settings):
    """Reach the bucket through a proxy from now on; call it with what shall fail."""
    proxies = []

    def use(**faults):
        proxies.append(FaultyProxy(moto, Faults(**faults)))
        settings(proxies[-1].address)
        return proxies[-1]

    yield use
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def invoke(invoke):
    """Call a command; secrets never show."""

    def call(*arguments, code=0):
        result = invoke(*arguments, code=code)
        assert SECRET not in result.output
        return result

    return call
