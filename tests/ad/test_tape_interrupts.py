"""Ctrl-C anywhere in the work of a tape: the next one is as good as if nothing had happened."""

import linecache
import sys
from pathlib import Path

import pytest

import quadrants as qd

_WORK = str(Path(qd.__file__).parent / "tapes")


class _Interrupt:
    """While its body runs, `KeyboardInterrupt` at the n-th line that the package runs for derivatives, but for those
    that give attributes back: what they do may be half done.
    """

    def __init__(self, n: int):
        self.left = n
        self.entered = set()

    def _line(self, frame, event, arg):
        if event == "line" and not self._leaves(frame):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._line

    def _leaves(self, frame) -> bool:
        """Whether it is the way out of a `with`, where no handler is called before its `__exit__`."""
        place = frame, frame.f_lineno
        if not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            return False
        self.entered ^= {place}
        return place not in self.entered

    def _call(self, frame, event, arg):
        code = frame.f_code
        return self._line if code.co_filename.startswith(_WORK) and code.co_name not in ("undo", "remove") else None

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)

    def __exit__(self, kind, error, trace):
        sys.settrace(self.before)
        self.entered.clear()


def _until_nothing_is_left(body, check) -> int:
    """Interrupt `body` at its first line, its second ..; `check` after each. Returns how many there were."""
    for n in range(1, 5000):
        done = False
        try:
            with _Interrupt(n):
                body()
            done = True
        except KeyboardInterrupt:
            pass
        check()  # out of the handler, which holds the frames that were left
        if done:
            return n
    raise AssertionError("there is no end of it")


@pytest.mark.parametrize("debug", [False, True])
def test_a_tape_after_one_that_was_interrupted(init, debug):
    init(debug=debug)
    loss, x, y = (qd.field(qd.f32, (), needs_grad=True) for _ in range(3))
    x[None], y[None] = 3, 5

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.x, self.held = x, x

        @property
        def seen(self):
            return self.held

        @qd.kernel
        def add(self):
            loss[None] += self.x[None] ** 2 + 10 * self.seen[None]

    owner, prop = Owner(), Owner.__dict__["seen"]

    def body():
        with qd.ad.Tape(loss):
            owner.add()
            owner.x = owner.held = y
            owner.add()

    def check():
        assert owner.x in (x, y) and Owner.__dict__["seen"] is prop
        owner.x = owner.held = x
        with qd.ad.Tape(loss):
            owner.add()
        assert (loss[None], x.grad[None], y.grad[None]) == (39, 16, 0)

    body()  # what is compiled once is compiled
    assert _until_nothing_is_left(body, check) > 50


def test_forward_mode_after_one_that_was_interrupted(init):
    init()
    loss, x = (qd.field(qd.f32, (), needs_dual=True) for _ in range(2))
    x[None] = 3

    @qd.kernel
    def square():
        loss[None] = x[None] ** 2

    def body():
        with qd.ad.FwdMode(loss, x):
            square()

    def check():
        body()
        assert loss.dual[None] == 6

    body()
    assert _until_nothing_is_left(body, check) > 20
