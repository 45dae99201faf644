"""Commands in the guides beside README.md, not all of which can be run here, are known to mlfs."""

import re
import shlex
from pathlib import Path

import click
import pytest

from mlfs_dask.cli import mlfs

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ["deploy/README.md", "jobs/README.md", "storage/README.md"]
COMMAND = re.compile(r"(?:^(?: {4}|\$ )(?:[A-Z_]+=\S+ )*|`)mlfs ([a-z][^`\n]*)", re.MULTILINE)


def commands(guide):
    text = (ROOT / guide).read_text(encoding="utf-8")
    return [words.strip().rstrip(".") for words in COMMAND.findall(text)]


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_and_their_options_are_known(guide):
    found = commands(guide)
    assert len(found) >= 5
    for words in found:
        arguments, command, path = shlex.split(words), mlfs, ["mlfs"]
        while isinstance(command, click.Group) and arguments:
            name = arguments.pop(0)
            child = command.get_command(click.Context(command), name)
            assert child is not None, f"{guide}: mlfs {words}"
            command, path = child, [*path, name]
        try:
            context = click.Context(command, info_name=" ".join(path))
            command.make_parser(context).parse_args(arguments)
        except click.BadOptionUsage:
            assert words.split()[-1].startswith("--"), words  # an option is named without a value
        except click.UsageError as error:
            pytest.fail(f"{guide}: mlfs {words}: {error.format_message()}")
