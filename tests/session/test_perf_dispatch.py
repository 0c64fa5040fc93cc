"""`qd.perf_dispatch`: turns, choices, triggers, forced implementations."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import quadrants as qd
from quadrants.tools import perf_dispatch as module


@pytest.fixture
def clock(monkeypatch):
    """A clock that only `clock.now += seconds` moves, so that choices do not depend on the machine."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "perf_counter", lambda: Clock.now)
    return Clock


@pytest.fixture
def made(arch, clock):
    """`made(**options)`: a prototype with "slow" and "fast", and the list of who ran."""

    def make(**options):
        ran: list = []

        @qd.perf_dispatch(get_geometry_hash=lambda a, b=None: a, **options)
        def proto(a, b): ...

        @proto.register
        def slow(a, b):
            clock.now += 2.0
            ran.append("s")
            return ("slow", a, b)

        @proto.register
        def fast(a, b):
            clock.now += 1.0
            ran.append("f")
            return ("fast", a, b)

        return proto, ran

    return make


def text_of(proto, ran, calls: int) -> str:
    for _ in range(calls):
        proto(1, 2)
    return "".join(ran)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"first_warmup": 2, "active": 2, "repeat_after_count": 5}, "sfsfsfsf" + "ffff" + "sfsf" + "ffff" + "sfsf"),
        ({"repeat_after_count": 3}, "sfsf" + "ff" + "sf" + "ff" + "sf"),
        ({"warmup": 1, "active": 2, "repeat_after_count": 3}, "sfsfsf" + "ff" + "sfsfsf" + "ff"),
        ({"repeat_after_count": 0}, "sfsf" + "f" * 40),
        ({"first_warmup": 0, "repeat_after_count": -1}, "sf" + "f" * 40),
        ({"repeat_after_seconds": 0}, "sfsf" + "f" * 400),
        ({"repeat_after_count": 4, "repeat_after_seconds": 0}, "sfsf" + "fff" + "sf" + "fff"),
        ({}, "sfsf" + "f" * 299 + "sf"),
    ],
)
def test_turns_and_triggers(made, options, expected):
    assert text_of(*made(**options), len(expected)) == expected


def test_trials_begin_anew_after_seconds(made, clock):
    proto, ran = made(repeat_after_seconds=10.0)
    assert text_of(proto, ran, 12) == "sfsf" + "f" * 8
    clock.now += 10.0
    assert text_of(proto, ran, 3)[12:] == "sff"


def test_what_a_call_returns_and_takes(made):
    proto, ran = made()
    assert proto(1, 2) == ("slow", 1, 2)
    assert proto(a=1, b=2) == ("fast", 1, 2)
    assert proto(3, b=4) == ("slow", 3, 4)  # another geometry has trials of its own
    assert repr(proto) == "<perf_dispatch proto: ['slow', 'fast']>"


def test_one_candidate_needs_no_trials(arch):
    asked = []

    @qd.perf_dispatch(get_geometry_hash=lambda x, n: asked.append("hash") or x)
    def proto(x, n): ...

    @proto.register(is_compatible=lambda x, n: asked.append("test") or n > 5)
    def large(x, n):
        return "large"

    @proto.register(is_compatible=lambda x, n: n <= 5)
    def small(x, n):
        return "small"

    x = object()
    assert [proto(x, 9) for _ in range(3)] == ["large"] * 3
    assert asked == ["hash", "test"]
    assert proto(object(), 9) == "large" and asked == ["hash", "test"] * 2
    assert proto(x, 2) == "small"
    with pytest.raises(TypeError):
        proto(x)


def test_no_candidate(arch):
    @qd.perf_dispatch(get_geometry_hash=lambda x: x)
    def proto(x): ...

    with pytest.raises(qd.QuadrantsRuntimeError, match="No suitable functions were found"):
        proto(1)

    @proto.register(is_compatible=lambda x: x > 1)
    def above(x):
        return "above"

    with pytest.raises(qd.QuadrantsRuntimeError, match="No suitable functions were found"):
        proto(1)
    assert proto(2) == "above"


def test_kernels(arch):
    @qd.perf_dispatch(get_geometry_hash=lambda x: x.shape, active=2)
    def proto(x): ...

    @proto.register
    @qd.kernel
    def up(x: qd.types.ndarray()):
        for i in range(x.shape[0]):
            x[i] += 1

    @proto.register
    @qd.kernel
    def down(x: qd.types.ndarray()):
        for k in range(x.shape[0]):
            x[x.shape[0] - 1 - k] += 1

    x = qd.ndarray(qd.i32, (8,))
    for _ in range(9):
        proto(x)
    assert x.to_numpy().tolist() == [9] * 8
    up(x)
    assert up.fn.__name__ == "up" and "x[" in up.source(x)
    assert x.to_numpy().tolist() == [10] * 8


def test_choices_survive_a_reset(made, init):
    proto, ran = made()
    text_of(proto, ran, 5)
    init()
    assert text_of(proto, ran, 3) == "sfsf" + "ffff"


def test_a_call_that_raises_counts_as_a_turn(arch):
    @qd.perf_dispatch(get_geometry_hash=lambda x: x)
    def proto(x): ...

    @proto.register
    def broken(x):
        raise ValueError("broken")

    @proto.register
    def whole(x):
        return "whole"

    got = []
    for _ in range(7):
        try:
            got.append(proto(1))
        except ValueError:
            got.append("broken")
    assert got == ["broken", "whole"] * 2 + ["whole"] * 3


def test_parameters_must_match(arch):
    @qd.perf_dispatch(get_geometry_hash=lambda a, b: a)
    def proto(a, b): ...

    def other(a, c): ...

    def fewer(a): ...

    for implementation in (other, fewer):
        with pytest.raises(qd.QuadrantsSyntaxError, match="PERFDISPATCH_ANNOTATION_SEQUENCE_MISMATCH"):
            proto.register(implementation)
    with pytest.raises(qd.QuadrantsSyntaxError, match="KERNEL_ANNOTATION_ORDER"):

        @qd.kernel
        @proto.register
        def wrong(a: qd.i32, b: qd.i32): ...


def test_arguments_of_perf_dispatch(arch):
    with pytest.raises(TypeError):
        qd.perf_dispatch(lambda a: a)
    with pytest.raises(TypeError):
        qd.perf_dispatch(first_warmup=1)
    with pytest.raises(ValueError, match="active"):
        qd.perf_dispatch(get_geometry_hash=lambda a: a, active=0)(lambda a: a)


PROGRAM = """
import quadrants as qd
@qd.perf_dispatch(get_geometry_hash=lambda a: a)
def proto(a): ...
@proto.register
def one(a): return "one"
@proto.register
def two(a): return "two"
qd.init(arch=qd.cpu)
print("ran", *[proto(1) for _ in range(5)])
"""


def run(**variables) -> subprocess.CompletedProcess:
    environment = {**os.environ, "ENABLE_QUADRANTS_HEADER_PRINT": "0", **variables}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.cpu_only
def test_a_forced_implementation():
    shown = run(QD_PERFDISPATCH_FORCE="other:x, proto:two").stdout
    assert "ran two two two two two" in shown
    assert "registered 'one'" in shown and "available implementations: ['one', 'two']" in shown
    assert "forced to 'two'" in shown


@pytest.mark.cpu_only
def test_a_forced_name_that_is_not_there():
    shown = run(QD_PERFDISPATCH_FORCE="proto:three").stdout
    assert "WARNING" in shown and "'three'" in shown and "ran one two one two" in shown


@pytest.mark.cpu_only
def test_names_on_request():
    shown = run(QD_PERFDISPATCH_FORCE="?").stdout
    assert "available implementations: ['one', 'two']" in shown and "ran one two one two" in shown


@pytest.mark.cpu_only
def test_a_malformed_request():
    failed = run(QD_PERFDISPATCH_FORCE="proto")
    assert failed.returncode != 0 and "prototype:implementation" in failed.stderr


@pytest.mark.cpu_only
def test_debug_output():
    shown = run(QD_PERFDISPATCH_PRINT_DEBUG="1").stdout
    assert "registered 'two'" in shown and "chose '" in shown
    assert "registered" not in run().stdout


@pytest.mark.cpu_only
def test_the_known_winner_is_cheap():
    @qd.perf_dispatch(get_geometry_hash=lambda a: a)
    def proto(a): ...

    @proto.register
    def only(a): ...

    a = object()
    proto(a)
    times = []
    for _ in range(20):
        began = time.perf_counter()
        for _ in range(100):
            proto(a)
        times.append(time.perf_counter() - began)
    # The same arguments again take microseconds, not a search; a loose bound, for busy machines.
    assert np.min(times) / 100 < 50e-6
