"""``mlfs doctor``: each fault is found, named and comes with its cure; a sound cluster has none."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from mlfs_dask.jobs.clusters import checks, cluster_checks
from mlfs_dask.jobs.clusters.address import SchedulerAddress
from mlfs_dask.jobs.clusters.certificates import DAYS, expiry, make_certificates
from mlfs_dask.jobs.clusters.connect import connected
from mlfs_dask.jobs.clusters.doctor import Store, examine_cluster
from mlfs_dask.jobs.clusters.live import Live, LiveWorker
from mlfs_dask.jobs.clusters.probe import Facts, Pool, SchedulerFacts, free_bytes, probe
from mlfs_dask.jobs.clusters.target import Wanted, choose_target
from mlfs_dask.jobs.clusters.versions import installed_versions
from mlfs_dask.testing.jobs import make_tiny_store

GIB = 2**30
HERE = installed_versions()
FACTS = Facts(
    host="node-1",
    versions=HERE,
    cores=4,
    memory_bytes=16 * GIB,
    machine_bytes=16 * GIB,
    processor="znver5",
    pools=[Pool("openblas", 1, "SkylakeX"), Pool("numba", 1, None)],
    kernels=None,
    numba_cache="/cache",
    folder="/scratch",
    free_bytes=100 * GIB,
)
SCHEDULER = SchedulerFacts(
    host="node-0",
    versions=HERE,
    allowed_failures=10,
    worker_ttl=60.0,
    pages=["127.0.0.1"],
    pages_encrypted=False,
)
WORKER = LiveWorker(
    address="tls://10.0.0.1:1",
    host="10.0.0.1",
    status="running",
    threads=1,
    processing=0,
    memory_bytes=0,
    memory_limit_bytes=4 * GIB,
    resources={"COORD": 1.0},
    folder="/scratch",
)
ADDRESS = SchedulerAddress.parse("tls://10.0.0.9:8786")


def live(*workers):
    return Live(address=str(ADDRESS), dashboard=None, workers=list(workers))


def one(found):
    """The only finding."""
    (finding,) = found
    assert (finding.fix is None) == (finding.level == "ok")
    return finding


def nodes(n=2, **changed):
    return {f"tls://10.0.0.{i}:1": replace(FACTS, **changed) for i in range(1, n + 1)}


def team(n=2, **changed):
    return live(*(replace(WORKER, address=a, **changed) for a in nodes(n)))


# --- pure judgements --------------------------------------------------------------------------


def test_nothing_is_wrong_with_a_sound_cluster():
    found = [
        *checks.check_versions(FACTS, SCHEDULER, nodes()),
        *checks.check_processors(FACTS, nodes()),
        *checks.check_threads(team(), nodes()),
        *checks.check_memory(team(), nodes()),
        *checks.check_disk({"runs": 100 * GIB}),
        *checks.check_numba({"client": FACTS, **nodes()}),
        *cluster_checks.check_clocks({"node-1": (0.01, 0.02)}),
        *cluster_checks.check_scheduler(SCHEDULER, team()),
        *cluster_checks.check_network(ADDRESS, SCHEDULER, team()),
        *cluster_checks.check_store("/s", "0" * 64, {"a": "0" * 64}),
        *cluster_checks.check_runs("/r", {"a": None}),
    ]
    assert {finding.level for finding in found} == {"ok"}
    assert len({finding.check for finding in found}) == len(found) == 11


def test_versions():
    other = {"a": replace(FACTS, versions={**HERE, "numpy": "1.0", "zarr": "2.0"}), "b": FACTS}
    numpy, zarr = checks.check_versions(FACTS, SCHEDULER, other)
    assert (numpy.level, zarr.level) == ("problem", "warning")
    assert "numpy 1.0 on a" in numpy.message
    assert f"numpy {HERE['numpy']}" in numpy.fix
    silent = one(checks.check_versions(FACTS, "No module named 'mlfs_dask'", {"b": FACTS}))
    assert (silent.level, "scheduler" in silent.message) == ("problem", True)
    assert f"mlfs-dask {HERE['mlfs-dask']}" in silent.fix


@pytest.mark.parametrize("changed", [{"processor": "haswell"}, {"pools": []}])
def test_processors(changed):
    mixed = {**nodes(1), "tls://10.0.0.7:1": replace(FACTS, **changed)}
    finding = one(checks.check_processors(FACTS, mixed))
    assert (finding.level, "10.0.0.7" in finding.message) == ("warning", True)


def test_threads():
    crowded = one(checks.check_threads(team(threads=3), nodes()))
    assert (crowded.level, "6 tasks at once, on 4 cores" in crowded.message) == ("warning", True)
    pools = [Pool("openblas", 4, None), Pool("numba", 3, None), Pool("mkl", 2, None)]
    finding = one(checks.check_threads(team(), nodes(pools=pools)))
    assert "numba 3, openblas 4" in finding.message
    assert "mkl" not in finding.message, "2 x 2 threads on 4 cores are no crowd"
    assert "NUMBA_NUM_THREADS=1" in finding.fix


def test_memory():
    def found(limit):
        return one(checks.check_memory(team(memory_limit_bytes=limit), nodes()))

    assert found(None).level == "warning"
    assert "16.2 GiB together" in found(int(8.1 * GIB)).message
    assert found(int(8.1 * GIB)).level == "problem"
    assert found(8 * GIB).level == "ok"
    granted = list(checks.check_memory(team(), nodes(memory_bytes=3 * GIB)))
    assert [finding.level for finding in granted] == ["problem"] * 2
    assert "batch job has 3.0 GiB" in granted[0].message
    small = list(checks.check_memory(team(memory_limit_bytes=600 * 2**20), nodes()))
    assert [finding.level for finding in small] == ["warning"] * 2
    tiny = list(checks.check_memory(team(memory_limit_bytes=300 * 2**20), nodes()))
    assert [finding.level for finding in tiny] == ["problem"] * 2


def test_disk():
    levels = [one(checks.check_disk({"x": free})).level for free in (0, 10**9, 10**10)]
    assert levels == ["problem", "warning", "ok"]


def test_numba():
    broken = one(checks.check_numba({"a": replace(FACTS, kernels="no locator"), "b": FACTS}))
    assert (broken.level, "a: no locator" in broken.message) == ("problem", True)
    assert "NUMBA_CACHE_DIR" in broken.fix
    assert one(checks.check_numba({"a": replace(FACTS, numba_cache=None)})).level == "warning"


@pytest.mark.parametrize(
    ("ahead", "doubt", "level"),
    [
        (0.5, 0.0, "ok"),
        (-2.0, 0.1, "warning"),
        (20.0, 0.1, "problem"),
        (-20.0, 0.1, "problem"),
        (20.0, 19.5, "ok"),
    ],
)
def test_clocks(ahead, doubt, level):
    finding = one(cluster_checks.check_clocks({"node-1": (ahead, doubt)}))
    assert finding.level == level
    if level != "ok":
        assert ("ahead of" if ahead > 0 else "behind") in finding.message


def test_the_schedulers_patience():
    hasty = replace(SCHEDULER, allowed_failures=3, worker_ttl=None)
    failures, ttl, workers = cluster_checks.check_scheduler(hasty, team())
    assert (failures.level, ttl.level, workers.level) == ("warning", "note", "ok")
    assert "loses 4 workers" in failures.message
    assert "ALLOWED_FAILURES=10" in failures.fix
    nobody = one(cluster_checks.check_scheduler(SCHEDULER, live()))
    assert (nobody.level, "none" in nobody.message) == ("warning", True)
    undeclared = one(cluster_checks.check_scheduler(SCHEDULER, team(resources={})))
    assert (undeclared.level, "COORD=1" in undeclared.fix) == ("note", True)


def test_open_networks():
    def found(address, workers, pages=("127.0.0.1",), encrypted=False):
        scheduler = replace(SCHEDULER, pages=list(pages), pages_encrypted=encrypted)
        where = SchedulerAddress.parse(address)
        team = live(*(replace(WORKER, address=worker) for worker in workers))
        return [f.level for f in cluster_checks.check_network(where, scheduler, team)]

    assert found("tcp://127.0.0.1:1", ["tcp://127.0.0.1:2"]) == ["ok"]
    assert found("tcp://10.0.0.1:1", []) == ["problem"]
    assert found("tls://10.0.0.1:1", ["tcp://10.0.0.2:1"]) == ["problem"]
    assert found("tls://10.0.0.1:1", [], ["0.0.0.0"]) == ["ok", "warning"]
    assert found("tls://10.0.0.1:1", [], ["0.0.0.0"], encrypted=True) == ["ok"]


def test_stores_and_runs():
    digest = "a" * 64
    seen = {"w1": digest, "w2": "b" * 64, "w3": "there is no store /s"}
    other, missing = cluster_checks.check_store("/s", digest, seen)
    assert "w2: /s has digest bbbbbbbbbb, here aaaaaaaaaa" in other.message
    assert "w3: there is no store /s" in missing.message
    assert other.level == missing.level == "problem"
    finding = one(cluster_checks.check_runs("/r", {"w1": None, "w2": "not seen"}))
    assert (finding.level, "w2: /r: not seen" in finding.message) == ("warning", True)


def test_certificates(tmp_path):
    files = make_certificates(tmp_path)
    now = Path(files.cert).stat().st_mtime
    assert expiry(files.cert) == pytest.approx(now + DAYS * 86_400, abs=120)
    assert list(cluster_checks.check_files(files, expiry(files.cert))) == []
    soon = one(cluster_checks.check_files(files, now + 3 * 86_400))
    assert (soon.level, "expires in 3 days" in soon.message) == ("warning", True)
    Path(files.key).chmod(0o640)
    seen = one(cluster_checks.check_files(files, None))
    assert (seen.level, seen.fix) == ("problem", f"chmod 600 {files.key}")


def test_room_is_told_for_folders_that_are_still_to_be_made(tmp_path):
    assert free_bytes(tmp_path / "not" / "yet") == shutil.disk_usage(tmp_path).free


# --- this machine -----------------------------------------------------------------------------


def test_this_machine(document, invoke, tmp_path):
    store = make_tiny_store(tmp_path / "stores")
    found = document("doctor", "--store", "tiny")
    assert found["fit"] is True
    assert found["cluster"] is None
    said = {finding["check"]: finding for finding in found["findings"]}
    assert {"versions", "processors", "disk", "numba", "store"} <= said.keys()
    assert store.digest[:10] in said["store"]["message"]
    assert "fit for jobs" in invoke("doctor").stdout


def test_a_store_that_is_not_there(invoke):
    assert "none" in invoke("doctor", "--store", "none", code=2).stderr


def test_a_full_disk_is_a_problem(document, invoke, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    found = document("doctor", code=2)
    assert found["fit"] is False
    assert found["findings"][0]["level"] == "problem"
    assert "2 problems" in invoke("doctor", code=2).stdout


def test_a_processs_facts_are_its_own():
    facts = probe()
    assert facts.kernels is None
    assert facts.numba_cache is not None
    assert {pool.library for pool in facts.pools} >= {"openblas", "numba"}
    assert facts.free_bytes > 0
    assert facts.versions["mlfs-dask"]


# --- real clusters ----------------------------------------------------------------------------


@pytest.mark.cluster
def test_a_cluster_of_ours_is_fit(secured, document, invoke, tmp_path):
    make_tiny_store(tmp_path / "stores")
    where = ("--scheduler-file", secured.scheduler_file, "--store", "tiny")
    found = document("doctor", *where, "--runs", tmp_path / "runs")
    assert found["fit"], found
    levels = {finding["check"]: finding["level"] for finding in found["findings"]}
    assert set(levels.values()) <= {"ok"}, found
    expected = "versions numba processors threads memory disk tls clock workers runs store"
    assert levels.keys() == set(expected.split())
    assert len(found["cluster"]["workers"]) == 2
    assert not [path for path in tmp_path.iterdir() if "doctor" in path.name]
    assert "fit for jobs" in invoke("doctor", *where).stdout


@pytest.mark.cluster
def test_a_store_that_workers_see_otherwise(secured, tmp_path):
    here = make_tiny_store(tmp_path / "stores")
    target = choose_target(Wanted(scheduler_file=str(secured.scheduler_file)))
    with connected(target) as client:
        for store, what in {
            Store(here.path, "0" * 64): "has digest",
            Store(str(tmp_path / "none.zarr"), here.digest): "there is no store",
        }.items():
            found = examine_cluster(client, target, tmp_path, store)
            problems = [f for f in found.findings if f.level == "problem"]
            assert [f.check for f in problems] == ["store"]
            assert what in problems[0].message


@pytest.mark.cluster
def test_a_cluster_that_was_started_carelessly(tmp_path):
    """Dask's defaults, many threads, no memory limit, the dashboard open to all."""
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=1,
        threads_per_worker=64,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address="0.0.0.0:0",
    ) as cluster:
        target = choose_target(Wanted(scheduler=cluster.scheduler_address))
        with Client(cluster, set_as_default=False) as client:
            found = examine_cluster(client, target, tmp_path, None)
    told = {f.fix: f.message for f in found.findings if f.level in ("warning", "note")}
    said = "\n".join(told.values())
    for fault in (
        "64 tasks at once",
        "no limit",
        "0.0.0.0",
        "allowed-failures is 3",
        "300 s (worker-ttl)",
        "COORD",
    ):
        assert fault in said
    assert None not in told
