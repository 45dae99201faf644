"""Which cluster is meant, and which addresses are refused before anything is connected to."""

import json
import socket
import threading

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mlfs_dask.errors import ClusterError, NotFoundError
from mlfs_dask.jobs.clusters import connect
from mlfs_dask.jobs.clusters.address import SchedulerAddress, is_host, is_loopback
from mlfs_dask.jobs.clusters.certificates import make_certificates
from mlfs_dask.jobs.clusters.target import Wanted, choose_target

SECRET = "hunter2"
FAR = "10.255.255.1:8786"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        (" TLS://node-7.example:1/ ", "tls://node-7.example:1"),
        ("tls://[fe80::1]:8786", "tls://[fe80::1]:8786"),
    ],
)
def test_addresses_are_read(text, expected):
    assert str(SchedulerAddress.parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8786",
        "host",
        "tcp://host",
        "tcp://:8786",
        "tcp://host:0",
        "tcp://host:65536",
        "tcp://host:" + "9" * 5000,
        "tcp://host:٣",
        "http://host:8786",
        "inproc://1/2:3",
        "tcp://-oProxyCommand=sh:22",
        "tcp://a b:1",
        "tcp://a/../b:1",
        "tcp://host:8786/x",
        "tcp://h\nost:1",
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ClusterError) as caught:
        SchedulerAddress.parse(text)
    assert len(str(caught.value)) < 400


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text):
    try:
        address = SchedulerAddress.parse(text)
    except ClusterError:
        return
    assert is_host(address.host)
    assert SchedulerAddress.parse(str(address)) == address


@pytest.mark.parametrize("text", [f"tcp://me:{SECRET}@host:1", f"me:{SECRET}@host", "@", "tcp://@"])
def test_passwords_are_refused_and_not_repeated(text, invoke, monkeypatch):
    with pytest.raises(ClusterError) as caught:
        SchedulerAddress.parse(text)
    assert SECRET not in repr((caught.value, caught.value.facts))
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", text)
    for words in (("cluster", "info"), ("cluster", "info", "--scheduler", text)):
        assert SECRET not in invoke(*words, code=2).output


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "0.0.0.0", "::", "fe80::1", "name.invalid"])
def test_not_loopback(host):
    assert not is_loopback(host)


def test_plain_connections_to_other_machines_need_insecure():
    with pytest.raises(ClusterError, match="plain TCP to another machine") as caught:
        choose_target(Wanted(scheduler=FAR))
    assert "--insecure" in caught.value.hint
    target = choose_target(Wanted(scheduler=FAR, insecure=True))
    assert "not encrypted" in target.warning
    assert target.tls is None


def test_insecure_is_said_aloud(invoke):
    """It warns before it connects; nothing listens on port 9."""
    done = invoke("cluster", "info", "--scheduler", "127.0.0.1:9", "--insecure", code=2)
    assert "not encrypted" not in done.stderr  # loopback: nothing to warn of
    done = invoke("cluster", "info", "--scheduler", "tcp://0.0.0.0:9", "--insecure", code=2)
    assert "whoever reaches it can run programs" in done.stderr


@pytest.mark.parametrize(
    "given",
    [
        {"scheduler": "127.0.0.1:1", "profile": "local"},
        {"scheduler": "127.0.0.1:1", "scheduler_file": "x"},
        {"scheduler_file": "x", "profile": "local"},
    ],
)
def test_one_place_only(given):
    with pytest.raises(ClusterError, match="each say where the cluster is") as caught:
        choose_target(Wanted(**given))
    for name in given:
        assert f"--{name.replace('_', '-')}" in caught.value.message


def test_the_environment_counts_where_nothing_else_is_said(monkeypatch):
    assert choose_target(Wanted()) is None
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "127.0.0.1:17")
    target = choose_target(Wanted())
    assert (target.address.port, target.said_by) == (17, "$DASK_SCHEDULER_ADDRESS")
    assert choose_target(Wanted(scheduler="127.0.0.1:18")).address.port == 18


def test_certificates_without_an_address_are_an_error(invoke):
    done = invoke("run", "quickstart", "--insecure", code=2)
    assert "nothing says where the cluster is" in done.stderr


def test_workers_here_and_a_cluster_there_exclude_each_other(invoke, tmp_path):
    words = ("--workers", "1", "--scheduler", "127.0.0.1:9", "--runs", tmp_path / "runs")
    assert "Give one of them" in invoke("run", "quickstart", *words, code=2).stderr
    assert not (tmp_path / "runs").exists()


# --- scheduler files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"[]",
        b"{}",
        b"7",
        b"[" * 100_000,
        b'{"address": 7}',
        b'{"address": "file:///etc/passwd"}',
        b'{"address": null}',
    ],
)
def test_files_of_strangers(tmp_path, content):
    path = tmp_path / "scheduler.json"
    path.write_bytes(content)
    with pytest.raises(ClusterError):
        choose_target(Wanted(scheduler_file=str(path)))


def test_a_file_cannot_send_us_to_another_machine_unencrypted(tmp_path):
    path = tmp_path / "scheduler.json"
    path.write_text(json.dumps({"address": f"tcp://{FAR}"}))
    with pytest.raises(ClusterError, match="plain TCP"):
        choose_target(Wanted(scheduler_file=str(path)))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(NotFoundError):
        choose_target(Wanted(scheduler_file=str(tmp_path / "none.json")))


# --- TLS material -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("tls"), ["10.0.0.5", "node-7.example"])


def test_keys_are_for_their_owner_alone(files, tmp_path):
    folder = tmp_path / "deep" / "tls"
    made = make_certificates(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["ca.pem", "cert.pem", "key.pem"]
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert (
        b"PRIVATE KEY" not in (folder / "ca.pem").read_bytes() + (folder / "cert.pem").read_bytes()
    )
    made.security()


@pytest.mark.parametrize("host", ["a,DNS:b", "a\nb", "", "-x", "a b"])
def test_hosts_in_certificates_are_hosts(tmp_path, host):
    with pytest.raises(ClusterError, match="no host"):
        make_certificates(tmp_path, [host])


def test_a_machine_without_openssl(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="openssl"):
        make_certificates(tmp_path)


def test_tls_addresses_need_certificates(files):
    with pytest.raises(ClusterError, match="needs certificates"):
        choose_target(Wanted(scheduler=f"tls://{FAR}"))
    given = {"tls_ca_file": files.ca_file, "tls_cert": files.cert, "tls_key": files.key}
    target = choose_target(Wanted(scheduler=FAR, **given))
    assert str(target.address) == f"tls://{FAR}", "certificates make tls the protocol"
    assert target.tls == files
    with pytest.raises(ClusterError, match="--tls-key is not given"):
        choose_target(Wanted(scheduler=f"tls://{FAR}", **{**given, "tls_key": None}))


def test_certificates_may_stand_in_dasks_configuration(files):
    import dask

    there = {
        "distributed.comm.tls.ca-file": files.ca_file,
        "distributed.comm.tls.client.cert": files.cert,
        "distributed.comm.tls.client.key": files.key,
    }
    with dask.config.set(there):
        assert choose_target(Wanted(scheduler=f"tls://{FAR}")).tls == files


def test_files_that_do_not_go_together(files, tmp_path):
    other = make_certificates(tmp_path)
    with pytest.raises(ClusterError, match="do not go together"):
        type(files)(ca_file=files.ca_file, cert=files.cert, key=other.key).security()
    with pytest.raises(ClusterError, match="not there"):
        type(files)(ca_file=files.ca_file, cert=files.cert, key=str(tmp_path / "no")).security()


# --- what listens there -----------------------------------------------------------------------


def listening(words, times=2):
    """Port of a process that hears a line and says something; ``None``: says nothing."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        with server:
            for _ in range(times):
                with server.accept()[0] as caller:
                    if words is None:
                        caller.recv(100)
                        caller.recv(100)  # until the caller gives up
                    elif caller.recv(100):
                        caller.sendall(words)

    threading.Thread(target=answer, daemon=True).start()
    return server.getsockname()[1]


def test_a_scheduler_that_ends_just_now_is_none():
    given = {"scheduler": f"tcp://127.0.0.1:{listening(b'', times=1)}"}
    with (
        pytest.raises(ClusterError, match="no scheduler answers"),
        connect.connected(choose_target(Wanted(**given))),
    ):
        pass


@pytest.mark.parametrize("words", [b"HTTP/1.0 400 Bad Request\r\n", b"SSH-2.0-x", b"", None])
@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_what_listens_and_is_no_scheduler_is_refused(protocol, words, files, monkeypatch):
    """Dask's own client would wait for it for ever."""
    monkeypatch.setattr(connect, "_GREETING_SECONDS", 0.2)
    given = {"scheduler": f"{protocol}://127.0.0.1:{listening(words)}"}
    if protocol == "tls":
        given |= {"tls_ca_file": files.ca_file, "tls_cert": files.cert, "tls_key": files.key}
    with (
        pytest.raises(ClusterError, match="does not talk"),
        connect.connected(choose_target(Wanted(**given))),
    ):
        pass


def test_a_worker_is_no_scheduler(two_workers, monkeypatch):
    """A client that it does not take would be waited for when the process ends."""
    monkeypatch.setattr(connect, "_client", lambda *_: pytest.fail("a client was made"))
    address, worker = next(iter(two_workers.scheduler_info["workers"].items()))
    for listening_there, kind in ((address, "worker"), (worker["nanny"], "nanny")):
        with (
            pytest.raises(ClusterError, match=f"is no scheduler but a Dask {kind}"),
            connect.connected(choose_target(Wanted(scheduler=listening_there))),
        ):
            pass
