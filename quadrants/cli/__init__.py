"""The command line: `python -m quadrants COMMAND`, or `quadrants COMMAND`.

A command is a row of `COMMANDS` and a module with `main(argv) -> int`; the module is imported when its command is run.
A row whose module is not part of this installation is not offered.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quadrants import spelling
from quadrants._version import DISTRIBUTION


class Command(NamedTuple):
    """`module` holds `main(argv: list[str]) -> int`, which returns the exit status."""

    name: str
    module: str
    summary: str


COMMANDS: list[Command] = [
    Command("doctor", "quadrants.cli.doctor", "what each backend has and lacks on this machine"),
    Command("cache", "quadrants.cli.cache", "show or empty the folder of compiled kernels"),
    Command("templates", "quadrants.emit.commands", "list, show, copy or check the kernel templates"),
]


def available() -> list[Command]:
    """The commands of this installation."""
    return [command for command in COMMANDS if importlib.util.find_spec(command.module) is not None]


def main(argv: Sequence[str]) -> int:
    """Run one command; `argv` is what follows `python -m quadrants`. Returns the exit status."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_usage(available()))
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"quadrants {DISTRIBUTION}")
        return 0
    for command in COMMANDS:
        if command.name == argv[0]:
            status: int = importlib.import_module(command.module).main(list(argv[1:]))
            return status
    hint = spelling.hint(argv[0], [command.name for command in available()])
    print(f"quadrants: there is no command {argv[0]!r}{hint}\n\n{_usage(available())}", file=sys.stderr)
    return 2


def run(command: Callable[[list[str]], int], argv: Sequence[str]) -> int:
    """`command(argv)` as the whole of a process: a reader that has seen enough (`| head`) is no error."""
    try:
        status = command(list(argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    return status


def entry() -> int:
    """The program `quadrants`."""
    return run(main, sys.argv[1:])


def _usage(commands: Iterable[Command]) -> str:
    rows = "\n".join(f"  {command.name:<10} {command.summary}" for command in commands)
    return (
        f"usage: python -m quadrants COMMAND ...\n       python -m quadrants --version\n\n{rows}\n\n"
        "`python -m quadrants COMMAND --help` tells more."
    )
