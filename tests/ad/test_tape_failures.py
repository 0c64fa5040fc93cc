"""Launches of a tape that come to no end: what they would have added is in no derivative."""

from __future__ import annotations

import signal

import pytest

import quadrants as qd


def test_launches_that_raise_are_not_recorded(init):
    init(debug=True)
    x, loss = qd.field(qd.f32, 2, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.fill(1.5)

    @qd.kernel
    def add(k: qd.f32):
        for i in x:
            assert k < 5
            loss[None] += k * x[i] ** 2

    @qd.ad.grad_replaced
    def outside(k):
        raise ValueError(k)

    @qd.ad.grad_for(outside)
    def outside_back(k):
        x.grad[0] += 1000

    with qd.ad.Tape(loss) as tape:
        add(1.0)
        with pytest.raises(qd.QuadrantsAssertionError):
            add(7.0)
            qd.sync()
        with pytest.raises(Exception, match="cannot be converted"):
            add("a")
        with pytest.raises(ValueError):
            outside(1)
        add(2.0)
    assert loss[None] == 13.5 and x.grad.to_numpy().tolist() == [9, 9]
    assert len(tape.calls) == len(tape.modes) == 5


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of POSIX")
def test_launches_that_a_signal_handler_ends(init, debug):
    """An exception out of a handler may come at any moment: the derivative is that of what ran."""
    init(debug=debug)
    x, loss = qd.field(qd.f64, (), needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    x[None] = 1.0

    @qd.kernel
    def add(k: qd.f64):
        loss[None] += k * x[None]

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    def stopped_now_and_then():
        for n in range(10):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                for k in range(200):
                    add(1.0 + 0.1 * n + 0.001 * k)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                pass

    with qd.ad.Tape(loss):  # compiles all there is: an exception while that lasts would come as one of the compiler
        add(0.0)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(20):
            with qd.ad.Tape(loss):
                stopped_now_and_then()
            assert abs(x.grad[None] - loss[None]) < 1e-9 * loss[None]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
