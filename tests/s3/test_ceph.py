"""The same against a real server, Ceph's gateway: conditional puts, signatures, faults between."""

import threading

import boto3
import pytest

from mlfs_dask.errors import BucketError
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.storage.atomic import create_file
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.places import place
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.jobs import TINY_JOB, tiny_table

from .ceph import Gateway, install
from .conftest import KEY, SECRET

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    problem = install()
    if problem is not None:
        pytest.skip(problem)
    started = Gateway(tmp_path_factory.mktemp("ceph"), KEY, SECRET)
    yield started.address
    started.stop()


@pytest.fixture
def moto(gateway):
    """What the fixtures of this folder take for the server."""
    return gateway


@pytest.fixture
def bucket(gateway, settings):
    settings(gateway)
    boto3.client(
        "s3",
        endpoint_url=gateway,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    ).create_bucket(Bucket="data")
    return "s3://data"


def run(runs):
    job = parse_job(TINY_JOB.encode(), "tiny.toml", ("run.workers=0",))
    return run_job(Order(job=job, text=TINY_JOB.encode(), runs=runs)).folder


def test_a_run_through_faults_has_the_bytes_of_one_in_a_folder(
    bucket, faulty, tmp_path, monkeypatch
):
    proxy = faulty(every=20)
    ingest(tiny_table(), tmp_path / "stores" / "tiny.zarr", tile=16, name="tiny")
    here = run(tmp_path / "runs")
    ingest(tiny_table(), place(f"{bucket}/stores/tiny.zarr"), tile=16, name="tiny", overwrite=True)
    monkeypatch.setenv("MLFS_STORES", f"{bucket}/stores")
    assert verify(place(f"{bucket}/stores/tiny.zarr")).ok
    there = run(place(f"{bucket}/runs"))
    for name in ("results.json", "evaluation.csv"):
        assert (there.path / name).read_bytes() == (here.path / name).read_bytes()
    units = [event["unit"] for event in open_run(there.path).events if event["event"] == "unit"]
    assert len(units) == len(set(units)) == 32
    assert proxy.failed > 5


def test_one_of_many_creates_an_object(bucket):
    target, won = place(f"{bucket}/owner"), []
    target.unlink()

    def create(number):
        try:
            create_file(target, b"%d" % number)
        except FileExistsError:
            return
        won.append(b"%d" % number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [target.read_bytes()]


@pytest.mark.parametrize(("key", "secret"), [(KEY, "wrong"), ("nobody", SECRET)])
def test_wrong_keys(bucket, gateway, settings, key, secret):
    settings(gateway, key, secret)
    with pytest.raises(BucketError, match="refuses to look into") as caught:
        place(bucket).exists()
    assert secret not in str(caught.value)
