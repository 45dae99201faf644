"""Addresses: what they mean, what is refused, and what several writers of one object see."""

import pickle
import sys
import threading

import pytest

from mlfs_dask.errors import BucketError, InputError, MachineError
from mlfs_dask.storage.atomic import create_file
from mlfs_dask.storage.places import ObjectPlace, names_in, place

from .conftest import KEY, SECRET


def test_parts_of_an_address():
    store = place("s3://bucket/stores/a.b.zarr/")
    assert str(store) == "s3://bucket/stores/a.b.zarr"
    assert (store.name, store.stem, store.suffix) == ("a.b.zarr", "a.b", ".zarr")
    assert store.parent / "c" == store.with_name("c") == place("S3://bucket/stores/c")
    assert str(place("s3://bucket").parent) == str(ObjectPlace("bucket")) == "s3://bucket"
    assert store.absolute() is store.resolve() is store
    assert pickle.loads(pickle.dumps(store)) == store
    assert len({store, place(str(store))}) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("s3://key:secret@bucket/x", "password"),
        ("s3://key:sec/ret@bucket/x", "password"),
        ("https://key:secret@host/bucket", "password"),
        ("s3://bucket/x?X-Amz-Signature=secret", "query"),
        ("gs://bucket/x", "gs://"),
        ("file:///etc/secret", "file://"),
        ("s3:///secret", "no address"),
        ("s3://bucket/../secret", "no address"),
        ("s3://bucket//secret", "no address"),
        ("s3://bucket/a\nb", "no address"),
        ("s3://", "no address"),
    ],
)
def test_what_is_no_address(text, word):
    with pytest.raises(InputError, match=word) as caught:
        place(text)
    assert "secret" not in str(caught.value) or "@" not in text


def test_an_object_is_written_read_listed_and_deleted(bucket):
    folder = place(f"{bucket}/folder")
    assert not folder.exists()
    assert names_in(folder) == []
    (folder / "b").write_bytes(b"later")
    (folder / "a" / "ü %20 #").write_bytes(b"inner")
    assert names_in(folder) == ["a", "b"]
    assert [path.key for path in folder.rglob("*")] == ["folder/a/ü %20 #", "folder/b"]
    assert (folder.is_dir(), folder.is_file(), (folder / "b").is_file()) == (True, False, True)
    assert (folder / "a" / "ü %20 #").read_text() == "inner"
    assert folder.bytes_below() == 10
    assert (folder / "b").stat().st_size == 5
    (folder / "b").unlink()
    (folder / "b").unlink()
    assert not (folder / "b").exists()
    for absent in (folder / "b").read_bytes, (folder / "b").stat:
        with pytest.raises(FileNotFoundError, match="folder/b"):
            absent()


def test_one_of_many_creates_an_object(bucket):
    target = place(f"{bucket}/owner")
    won = []

    def create(number):
        try:
            create_file(target, b"%d" % number)
        except FileExistsError:
            return
        won.append(b"%d" % number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [target.read_bytes()]


def test_who_created_an_object_but_heard_nothing_is_told_that_he_did(bucket, faulty):
    proxy = faulty(every=2)
    for number in range(12):
        create_file(place(f"{bucket}/{number}"), b"mine")
        with pytest.raises(FileExistsError):
            create_file(place(f"{bucket}/{number}"), b"theirs")
    assert proxy.failed >= 12


def test_no_such_bucket(bucket):
    with pytest.raises(BucketError, match="no bucket 'none-of-these' at http"):
        place("s3://none-of-these/x").exists()


def test_nobody_answers(settings):
    settings("http://127.0.0.1:9")
    with pytest.raises(BucketError, match="does not answer"):
        place("s3://bucket/x").exists()


@pytest.mark.parametrize("status", [403, 401])
def test_wrong_keys_are_told_without_repeating_them(status, bucket, faulty):
    words = f"<Code>InvalidAccessKeyId</Code><AWSAccessKeyId>{KEY}</AWSAccessKeyId>{SECRET}"
    faulty(status=status, body=f"<Error>{words}</Error>".encode())
    with pytest.raises(BucketError, match="InvalidAccessKeyId") as caught:
        place(f"{bucket}/x").exists()
    assert caught.value.exit_code == 2
    error = caught.value
    while error is not None:
        assert KEY not in str(error)
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


def test_a_server_that_fails_later_is_a_fault_of_the_machine(bucket, faulty, monkeypatch):
    monkeypatch.setattr("mlfs_dask.storage.bucket._RETRIES", 0)
    monkeypatch.setattr("mlfs_dask.storage.bucket._SECONDS_BETWEEN", 0.0)
    proxy = faulty()
    folder = place(f"{bucket}/x")
    assert not folder.exists()
    proxy.faults.status = 500
    with pytest.raises(MachineError, match=r"cannot read s3://bucket.*status 500"):
        folder.read_bytes()


def test_keys_in_the_address_of_the_server(settings):
    settings("http://user:secret@host:9000")
    with pytest.raises(BucketError, match="AWS_ENDPOINT_URL holds") as caught:
        place("s3://bucket/x").exists()
    assert "secret" not in str(caught.value)


def test_obstore_is_not_installed(bucket, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "nowhere")  # so that nothing known is asked for again
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(BucketError, match="obstore, which is not installed"):
        place(f"{bucket}/x").exists()
