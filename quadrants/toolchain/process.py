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
    return Child(argv, env).finish(text, timeout)


class Child:
    """A program that runs, or waits for its input. Raises OSError when it cannot be started.

    One that nobody sends anything sees the end of its input when this process dies, however that happens.
    """

    def __init__(self, argv: Sequence[str], env: dict[str, str] | None = None):
        import subprocess

        # A session of its own: a compiler driver has children that would outlive it, and Ctrl-C is for this process.
        self._process = subprocess.Popen.__new__(subprocess.Popen)
        try:
            self._process.__init__(  # type: ignore[misc]
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=env,
                bufsize=0,
                start_new_session=os.name == "posix",
            )
        except KeyboardInterrupt:
            if getattr(self._process, "pid", None):  # it runs already
                self.stop()
            raise
        _children.add(self)

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def send(self, text: bytes) -> bytes:
        """Write as much of its input as it takes at once, and return the rest for `finish`."""
        pipe = self._process.stdin
        if pipe is None or os.name != "posix":
            return text
        try:
            os.set_blocking(pipe.fileno(), False)
            rest = text[os.write(pipe.fileno(), text) :]
        except BlockingIOError:
            return text
        except BrokenPipeError:
            rest = b""  # it ended, or needs no input; its status tells which
        if not rest:
            self._close_input()
        return rest

    def _close_input(self) -> None:
        pipe, self._process.stdin = self._process.stdin, None
        if pipe is not None:
            pipe.close()

    def finish(self, text: bytes, timeout: float) -> Finished:
        """Send (the rest of) its input and wait for its end, `timeout` seconds at most."""
        import subprocess

        try:
            if not text:
                self._close_input()
            self._await_end(text, timeout)
            output, _ = self._process.communicate(text or None, timeout=timeout)
        except subprocess.TimeoutExpired:
            return Finished(None, self.stop())
        except BaseException:
            self.stop()
            raise
        _children.discard(self)
        return Finished(self._process.returncode, output)

    def _await_end(self, text: bytes, timeout: float) -> None:
        """Return when it has ended or says something; `communicate` would look for its end in ever longer naps."""
        if text or not hasattr(os, "pidfd_open") or self._process.stdout is None:
            return
        import select

        try:
            end = os.pidfd_open(self._process.pid)
        except OSError:  # it has ended, or the system has no such thing
            return
        try:
            watched = select.poll()
            watched.register(end, select.POLLIN)
            watched.register(self._process.stdout.fileno(), select.POLLIN)
            watched.poll(timeout * 1000)
            # An end of its output is most often followed by its own within microseconds.
            watched.unregister(self._process.stdout.fileno())
            watched.poll(20)
        finally:
            os.close(end)

    def stop(self) -> bytes:
        """Kill it and its children, unless it has ended. Returns what it said."""
        _children.discard(self)
        if self._process.returncode is None:  # else its number may be another's by now
            _kill(self._process)
        return _drain(self._process)

    def disown(self) -> None:
        """In a forked child: let go of the pipes, or the parent's program would never see the end of its input."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0  # it is not this process's to wait for


_children: set[Child] = set()


def _after_fork() -> None:
    for child in _children:
        child.disown()
    _children.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
    except (subprocess.TimeoutExpired, ValueError):  # ValueError: the pipes are closed already
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.wait()
        return b""
