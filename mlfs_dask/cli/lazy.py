"""A click group whose commands are imported when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Group with a table of commands that are not imported yet.

    Parameters
    ----------
    commands_from
        Name of a command -> ``"module:attribute"`` of a click command.
    """

    def __init__(self, *args: Any, commands_from: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = dict(commands_from)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._targets})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Command of a name, imported on first use."""
        target = self._targets.get(cmd_name)
        if target is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{target} is not a click command")
        return command
