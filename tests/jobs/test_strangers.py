"""Job files from strangers: they name data and methods, and can do nothing else."""

import json
import os

import pytest
from click.testing import CliRunner

from mlfs_dask.cli import mlfs
from mlfs_dask.errors import JobFileError, MlfsError
from mlfs_dask.jobs.jobfile import parse_job, read_job
from mlfs_dask.testing.jobs import TINY_JOB

SECRET = "hunter2"
WITH_SECRET = (
    f"s3://me:{SECRET}@bucket.example/tiny.zarr",
    f"https://{SECRET}@host.example/tiny.zarr",
    f"s3://bucket/tiny.zarr?secret_access_key={SECRET}",
)
SPLIT = 'split = { kind = "kfold", folds = 3, repeats = 2 }'


@pytest.fixture
def folder(tmp_path):
    """Where the job file lies; beside it something that is no business of a stranger's."""
    (tmp_path / "private.csv").write_text("".join(f"{i}\n" for i in range(60)))
    made = tmp_path / "job"
    made.mkdir()
    (made / "link.csv").symlink_to(tmp_path / "private.csv")
    (made / "circle.csv").symlink_to(made / "circle.csv")
    (made / "up").symlink_to(tmp_path)
    return made


def with_costs(name):
    return TINY_JOB.replace("[data]", f"[data]\ncosts = {json.dumps(name)}")


def with_groups(name):
    groups = f'split = {{ kind = "groups", folds = 3, column = {json.dumps(name)} }}'
    return TINY_JOB.replace(SPLIT, groups)


OUTSIDE = ("../private.csv", "link.csv", "up/private.csv", "x/../../private.csv", "circle.csv")


@pytest.mark.parametrize("text", [with_costs, with_groups])
@pytest.mark.parametrize("name", [*OUTSIDE, "ABSOLUTE", "/etc/passwd", "~/x.csv", "a\0b"])
def test_files_outside_the_folder_of_the_job_are_not_read(
    folder, tmp_path, text, name, monkeypatch
):
    monkeypatch.chdir(folder)
    wanted = name.replace("ABSOLUTE", str(tmp_path / "private.csv"))
    for file in (str(folder / "job.toml"), "job.toml"):
        with pytest.raises(JobFileError) as caught:
            parse_job(text(wanted).encode(), file)
        (problem,) = caught.value.facts["problems"]
        assert "outside" in problem or "No such file" in problem or "null byte" in problem
        assert "outside" in problem or name not in OUTSIDE


def test_the_user_may_name_any_file(folder, tmp_path):
    path = tmp_path / "private.csv"
    job = parse_job(
        with_groups("../private.csv").encode(),
        str(folder / "job.toml"),
        (f"evaluate.split={{ kind = 'groups', folds = 3, column = '{path}' }}",),
    )
    assert job.files["evaluate.split.column"].path == str(path)


@pytest.mark.parametrize("address", WITH_SECRET)
def test_credentials_are_refused_and_not_repeated(folder, address):
    for text in (
        TINY_JOB.replace('store = "tiny"', f'store = "{address}"'),
        TINY_JOB.replace('store = "tiny"', f'store = ["tiny", "{address}"]'),
        with_costs(address),
        with_groups(address),
    ):
        with pytest.raises(JobFileError, match="a user name, a password or a sign") as caught:
            parse_job(text.encode(), str(folder / "job.toml"))
        assert SECRET not in str(caught.value) + repr(caught.value.facts)


@pytest.mark.parametrize("address", WITH_SECRET)
@pytest.mark.parametrize(
    "beginning", ["# was: ", "[[select]]\nmethod = 'mllap'\nlabel = ", "[sweep]\n# "]
)
def test_credentials_are_refused_anywhere_since_runs_keep_the_file(folder, beginning, address):
    text = f"{TINY_JOB}\n" if "select" not in beginning else TINY_JOB.partition("[evaluate]")[0]
    with pytest.raises(JobFileError, match=r"line \d+: an address with a user name") as caught:
        parse_job(f'{text}{beginning}"{address}"\n'.encode(), str(folder / "job.toml"))
    assert SECRET not in str(caught.value) + repr(caught.value.facts)


@pytest.mark.parametrize("address", WITH_SECRET)
def test_credentials_are_refused_where_the_key_is_overruled(folder, address):
    text = TINY_JOB.replace('store = "tiny"', f'store = "{address}"')
    with pytest.raises(JobFileError, match="line 7: an address with a user name"):
        parse_job(text.encode(), str(folder / "job.toml"), ('data.store="tiny"',))


@pytest.mark.parametrize("command", ["run", "plan", "submit"])
def test_commands_do_not_repeat_them_either(folder, command, caplog):
    path = folder / "job.toml"
    path.write_text(TINY_JOB.replace('store = "tiny"', f'store = "{WITH_SECRET[0]}"'))
    done = CliRunner().invoke(mlfs, [command, str(path)])
    assert done.exit_code == 2
    assert "a user name, a password or a signature" in done.stderr
    assert SECRET not in done.output + done.stderr + caplog.text
    assert not os.path.exists(os.environ["MLFS_RUNS"])


def test_a_password_in_the_wrong_place_is_not_repeated_either(folder):
    path = folder / "job.toml"
    path.write_text(TINY_JOB.replace('name = "tiny"', f'name = "{WITH_SECRET[0]}"'))
    with pytest.raises(JobFileError) as caught:
        read_job(path)
    assert SECRET not in str(caught.value) + repr(caught.value.facts)
    assert "***@bucket" in str(caught.value)
    assert SECRET not in str(MlfsError(f"no answer from {WITH_SECRET[1]}"))


@pytest.mark.parametrize(
    "name", ["../x", "/tmp/x", "a/b", "..", ".hidden", "a\nb", "x" * 81, "", "a b"]
)
def test_a_name_that_leads_out_of_the_runs_is_refused(folder, name):
    text = TINY_JOB.replace('name = "tiny"', f"name = {json.dumps(name)}")
    with pytest.raises(JobFileError, match="name"):
        parse_job(text.encode(), str(folder / "job.toml"))


@pytest.mark.parametrize("kind", ["select", "evaluate.classifier"])
@pytest.mark.parametrize(
    "method",
    ["os:system", "os.system", "mlfs_dask.errors", "../toys", "builtins:eval", "__import__"],
)
def test_a_method_is_a_registered_name_and_no_code(folder, kind, method):
    text = TINY_JOB.replace('"spec"' if kind == "select" else '"mlknn"', json.dumps(method))
    with pytest.raises(JobFileError, match="is named"):
        parse_job(text.encode(), str(folder / "job.toml"))
