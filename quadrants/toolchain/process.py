"""One child process: text in, what it said out, and no survivors after a timeout or an interrupt."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess


class Finished(NamedTuple):
    """How a child ended. `status` is the exit status, negative for a signal, None when it was stopped at the limit."""

    status: int | None
    output: bytes


def run(argv: Sequence[str], text: bytes = b"", *, timeout: float, env: dict[str, str] | None = None) -> Finished:
    """Run `argv` with `text` on its standard input; standard output and error are returned together.

    `timeout` is in seconds. Raises OSError when the program cannot be started.
    """
    import subprocess

    # A session of its own, because a compiler driver has children that would outlive it.
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=os.name == "posix",
    )
    try:
        output, _ = child.communicate(text, timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(child)
        return Finished(None, _drain(child))
    except BaseException:
        _kill(child)
        _drain(child)
        raise
    return Finished(child.returncode, output)


def _kill(child: subprocess.Popen[bytes]) -> None:
    import signal

    try:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except ProcessLookupError:
        pass  # it ended in the meantime, which is what was wanted


def _drain(child: subprocess.Popen[bytes]) -> bytes:
    """What a killed child said. A grandchild that left the group may hold the pipe open: give it one second."""
    import subprocess

    try:
        return child.communicate(timeout=1.0)[0] or b""
    except subprocess.TimeoutExpired:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.wait()
        return b""
