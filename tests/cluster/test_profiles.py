"""Profiles: found, checked, and never more than data."""

from pathlib import Path

import pytest

from mlfs_dask.errors import JobFileError, MlfsError, NotFoundError
from mlfs_dask.jobs.clusters.profiles import all_profiles, parse_profile, read_profile
from mlfs_dask.jobs.clusters.target import STARTED_BY, Wanted, choose_target

KINDS = ("kubernetes", "local", "scheduler", "slurm", "ssh")
MINIMAL = 'schema = 1\nkind = "scheduler"\nscheduler = "127.0.0.1:1"\n'


@pytest.mark.parametrize("name", KINDS)
def test_profiles_that_come_with_the_package(name):
    assert read_profile(name).kind == name
    assert name in STARTED_BY


def test_there_is_one_per_kind():
    assert tuple(all_profiles()) == KINDS


def test_users_folders_come_first(tmp_path, monkeypatch):
    config = tmp_path / "config" / "mlfs" / "profiles"
    config.mkdir(parents=True)
    (config / "slurm.toml").write_text(MINIMAL)
    assert read_profile("slurm").file == str(config / "slurm.toml")
    own = tmp_path / "own"
    own.mkdir()
    (own / "slurm.toml").write_text(MINIMAL)
    monkeypatch.setenv("MLFS_PROFILES", str(own))
    assert read_profile("slurm").file == str(own / "slurm.toml")
    assert read_profile("ssh").kind == "ssh"
    assert choose_target(Wanted(profile="slurm")).said_by == "profile slurm"


def test_a_path_is_a_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    assert read_profile(str(path)).scheduler == "127.0.0.1:1"


@pytest.mark.parametrize("name", ["none", "../etc/passwd", "/none/x.toml", "none.toml", ""])
def test_unknown_profiles(name):
    with pytest.raises(NotFoundError, match="profile") as caught:
        read_profile(name)
    assert "slurm" in caught.value.hint


def test_paths_are_relative_to_the_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    text = 'schema = 1\nkind = "slurm"\nscheduler_file = "s.json"\n[tls]\nca_file = "~/ca.pem"\n'
    profile = parse_profile(text.encode(), str(tmp_path / "p.toml"))
    assert profile.scheduler_file == str(tmp_path / "s.json")
    assert profile.tls.ca_file == "/home/somebody/ca.pem"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ("schema: missing", "kind: missing")),
        ("\x00", ("not TOML",)),
        ("x = " + "[" * 5000, ("not TOML",)),
        ("#" * 2_000_000, ("larger than",)),
        (MINIMAL + 'schedular = "x"', ("did you mean 'scheduler'?",)),
        (MINIMAL + 'scheduler_file = "x"', ("exactly one",)),
        (MINIMAL + 'name = "x"\nfile = "y"', ("name: unknown key", "file: unknown key")),
        (MINIMAL + "folder = 'x'\n[start]\nworkers = 2", ("folder: only 'local'", "start: only")),
        (MINIMAL + "[tls]\nca = 'x'", ("tls.ca: unknown key",)),
        ('schema = 2\nkind = "slrum"', ("schema:", "kind: 'slrum' is not allowed")),
        ('schema = 1\nkind = "slurm"', ("exactly one",)),
        ('schema = 1\nkind = "local"\nscheduler = "x"', ("scheduler: a 'local' cluster",)),
        (
            "schema = 1\nkind = 'local'\n[start]\nworkers = 0\nthreads = 0\nmemory = 4\nport = -1",
            ("start.workers", "start.threads", "start.memory", "start.port"),
        ),
    ],
)
def test_all_problems_at_once(text, problems):
    with pytest.raises(JobFileError) as caught:
        parse_profile(text.encode(), "p.toml")
    for problem in problems:
        assert problem in str(caught.value)
    assert len(caught.value.problems) == len(problems)


@pytest.mark.parametrize(
    "keys",
    [
        'command = "rm -rf ~"',
        'scheduler_file = "$(touch hacked)"',
        'scheduler_file = "`touch hacked`"',
        'preload = ["os"]',
        'insecure = true\nscheduler = "tcp://10.255.255.1:1"',
        'scheduler = "tcp://10.255.255.1:1"',
        'scheduler = "tcp://me:hunter2@10.255.255.1:1"',
    ],
)
def test_profiles_of_strangers_do_nothing(keys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "theirs.toml"
    path.write_text(f'schema = 1\nkind = "scheduler"\n{keys}\n')
    with pytest.raises(MlfsError) as caught:
        choose_target(Wanted(profile=str(path)))
    assert caught.value.exit_code == 2
    assert "hunter2" not in str(caught.value)
    assert [path.name for path in Path().iterdir()] == ["theirs.toml"]


def test_certificates_of_a_profile(tmp_path):
    from mlfs_dask.jobs.clusters.certificates import make_certificates

    files = make_certificates(tmp_path / "tls")
    path = tmp_path / "mine.toml"
    names = {name: f"tls/{name}.pem" for name in ("ca", "cert", "key")}
    path.write_text(
        'schema = 1\nkind = "scheduler"\nscheduler = "tls://10.255.255.1:1"\n[tls]\n'
        f'ca_file = "{names["ca"]}"\ncert = "{names["cert"]}"\nkey = "{names["key"]}"\n'
    )
    assert choose_target(Wanted(profile=str(path))).tls == files


def test_the_local_profile_without_a_cluster(tmp_path):
    with pytest.raises(NotFoundError, match="no cluster was started") as caught:
        choose_target(Wanted(profile="local"))
    assert "mlfs cluster start --profile local" in caught.value.hint
    assert str(tmp_path / "cluster") in caught.value.message


def test_only_local_profiles_are_started(invoke):
    done = invoke("cluster", "start", "--profile", "slurm", code=2)
    assert "does not start" in done.stderr
    assert "sbatch" in done.stderr
