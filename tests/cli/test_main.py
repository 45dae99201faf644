"""The root command: laziness, errors as messages and exit codes, one JSON document."""

import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from mlfs_dask.cli import MlfsGroup, mlfs
from mlfs_dask.errors import MachineError, NotFoundError, RunInterruptedError


def invoke(group, *arguments):
    return CliRunner().invoke(group, arguments)


def failing(error):
    """A root group with one command, in a sub-group, that raises."""

    @click.group(cls=MlfsGroup, commands_from={})
    def root():
        pass

    @root.group()
    def data():
        pass

    @data.command()
    @click.argument("name")
    @click.option("--json", "as_json", is_flag=True)
    def show(name, as_json):
        raise error

    return root


ERRORS = {
    "user": (NotFoundError("no store 'x'", hint="Make one.", name="x"), 2, "not-found"),
    "machine": (MachineError("disk full", path="/x"), 1, "machine"),
    "interrupted": (RunInterruptedError("stopped"), 1, "interrupted"),
    "system": (OSError(5, "Input/output error", "/x"), 1, "machine"),
}


@pytest.mark.parametrize(("error", "exit_code", "code"), ERRORS.values(), ids=ERRORS)
def test_errors_become_one_message_and_an_exit_code(error, exit_code, code):
    plain = invoke(failing(error), "data", "show", "x")
    assert plain.exit_code == exit_code
    assert plain.stderr.startswith("Error: ")
    assert "Traceback" not in plain.stderr
    assert plain.stdout == ""
    with_json = invoke(failing(error), "data", "show", "x", "--json")
    assert with_json.exit_code == exit_code
    document = json.loads(with_json.stdout)["error"]
    assert (document["code"], document["exit_code"]) == (code, exit_code)
    assert with_json.stderr == plain.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["status", "none", "--json"]])
def test_a_full_disk_is_one_message_and_a_closed_pipe_none(arguments, tmp_path):
    command = [sys.executable, "-m", "mlfs_dask", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_the_message_holds_the_hint():
    done = invoke(failing(ERRORS["user"][0]), "data", "show", "x")
    assert done.stderr == "Error: no store 'x'\n  Make one.\n"


def test_usage_errors_are_json_too():
    root = failing(RuntimeError)
    plain = invoke(root, "data", "show")
    assert plain.exit_code == 2
    assert "Missing argument 'NAME'" in plain.stderr
    with_json = invoke(root, "data", "show", "--json")
    assert with_json.exit_code == 2
    assert json.loads(with_json.stdout)["error"]["code"] == "usage"


def test_bugs_are_not_hidden():
    done = invoke(failing(ZeroDivisionError("bug")), "data", "show", "x")
    assert isinstance(done.exception, ZeroDivisionError)


def test_unknown_commands_are_usage_errors():
    done = invoke(mlfs, "dta")
    assert done.exit_code == 2
    assert "No such command 'dta'" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["data", "--help"], ["data", "ingest", "--help"]]
)
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from mlfs_dask.cli import mlfs\n"
        f"mlfs({arguments!r}, standalone_mode=False)\n"
        "heavy = {'dask', 'distributed', 'numba', 'zarr', 'scipy', 'numpy', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def commands(group, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("command", [" ".join(path) for path, _ in commands(mlfs)])
def test_every_command_has_help_with_an_example(command):
    done = invoke(mlfs, *command.split(), "--help")
    assert done.exit_code == 0
    assert f"mlfs {command.split()[0]}" in done.output.split("Example:")[1]


def test_version():
    assert invoke(mlfs, "--version").output.startswith("mlfs, version ")


def test_is_a_command_of_dask_too():
    done = subprocess.run(
        [sys.executable, "-m", "dask", "mlfs", "data", "show", "none", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "not-found"
