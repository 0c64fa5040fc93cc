"""What debug mode and bounds checks change in derivatives, and what they do not: stacks, sizes, gradients."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
LEVELS = ({}, {"check_out_of_bound": True}, {"debug": True})


def recurrences(dtype=qd.f64):
    """Two loops, the second behind the first; the carried integer `at` has a stack too."""
    x, y = field(POINTS, dtype), field(np.zeros(4), dtype)

    @qd.kernel
    def recur(n: qd.i32, m: qd.i32):
        for i in x:
            v, at = x[i], i
            for j in range(n):
                v = qd.sin(v) * x[at] + 0.1
                at = (at * 3 + 1) % 4
            w = v
            for j in range(m):
                w = w * v * 0.5 + 0.2
            y[i] = v + w

    return recur, x, y


def stack_lines(text: str) -> list:
    """All lines about stacks, without the numbers of checks."""
    lines = [line.split("//")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if re.search(r"_stack\b|_stack_|qd_depth|qd_stride|trips", line)]
    lines = [re.sub(r"\bqd_holds_\d+", "qd_holds", line) for line in lines]
    return [re.sub(r"qd_fail_(\w+)\(lane, \d+", r"qd_fail_\1(lane, SITE", line) for line in lines]


FORCED = {"ad_stack_size": 16}
# Of texts in which arrays have indices; Vulkan has addresses.
words_alone = pytest.mark.runtime(exclude=("vulkan",))


@pytest.mark.parametrize("sizes", [FORCED, {}], ids=["forced", "from the launch"])
def test_checks_change_nothing_about_stacks(init, sizes):
    """Neither pushes nor sizes nor what detects an overflow."""
    found = []
    for level in LEVELS:
        init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **sizes, **level)
        found.append(stack_lines(recurrences()[0].grad.source(3, 3)))
    assert len(found[0]) >= 6
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", LEVELS, ids=str)
@words_alone
def test_a_push_is_one_plain_store(init, level):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **FORCED, **level)
    text = recurrences()[0].grad.source(3, 3)
    pushes = [line for line in text.splitlines() if re.match(r"\s*\w+_stack(_\d+)?\[.*\] = ", line)]
    assert len(pushes) == 3
    for line in pushes:
        assert re.fullmatch(r"\s*\w+_stack(_\d+)?\[(j|\(int64_t\)j \* qd_rows)\] = \w+;(\s*//.*)?", line), line


@words_alone
def test_nothing_counts_pushes(init):
    """A position on a stack is the number of the iteration: no counter to carry, not even an array of them."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **FORCED, debug=True)
    text = recurrences()[0].grad.source(3, 3)
    text = text[text.index("_struct_for(") :]
    changed = re.findall(r"(?:\+\+(\w+)|(\w+)--|(\w+)\+\+|--(\w+)|(\w+) \+= 1\b)", text)
    assert {name for names in changed for name in names if name} <= {"i", "j"}


def test_guards_of_integers_belong_to_debug_mode(init):
    guarded = []
    for level in LEVELS:
        init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **FORCED, **level)
        x, y = field(POINTS), field(np.zeros(4))

        @qd.kernel
        def k(n: qd.i32):
            for i in x:
                v = x[i]
                for _ in range(n * 2 - 1):
                    v = qd.sin(v)
                y[i] = v

        guarded.append("qd_checked_mul_i32" in k.grad.source(3))
        check(k, [x], [y], 2, modes="r")
    assert guarded == [False, False, True]


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("sizes", [FORCED, {}], ids=["forced", "from the launch"])
def test_debug_and_release_agree_to_the_bit(init, name, sizes):
    found = []
    for level in LEVELS:
        init(default_fp=getattr(qd, name), ad_stack_experimental_enabled=True, fast_math=False, **sizes, **level)
        kernel, x, y = recurrences(getattr(qd, name))
        found.append(reverse(kernel, [x], [y], 9, 5)[0].tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_an_overflow_is_found_at_every_level_and_leaves_nothing_behind(init, level):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=32, **level)
    kernel, x, y = recurrences()
    for trips in ((64, 3), (3, 64), (64, 64)):
        with pytest.raises(qd.QuadrantsAssertionError, match="[Aa]dstack overflow") as caught:
            kernel.grad(*trips)
            qd.sync()
        assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, AssertionError)
        qd.sync()
        check(kernel, [x], [y], 30, 3, modes="r")
        check(kernel, [x], [y], 3, 30, modes="r")


@pytest.mark.runtime(exclude=("cpu",))
def test_only_kernels_that_print_wait_for_their_end(init, monkeypatch):
    """Also where the print is never reached. (The CPU always waits.)"""
    from quadrants.runtime import device

    made = {}

    def program(*args, waits, **options):
        made[len(made)] = waits
        return real(*args, waits=waits, **options)

    real = device.DeviceProgram
    monkeypatch.setattr(device, "DeviceProgram", program)
    init(default_fp=qd.f64)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def prints():
        for i in x:
            if x[i] > 100:
                print("never", x[i])
            y[i] = x[i] * x[i]

    @qd.kernel
    def silent():
        for i in x:
            y[i] = x[i] * x[i]

    made.clear()
    prints()
    silent()
    silent.grad()
    assert list(made.values()) == [True, False, False]
    check(prints, [x], [y])


PROGRAM = """
import quadrants as qd

qd.init(ad_stack_experimental_enabled=True, ad_stack_size=32, offline_cache=False)
x, y = (qd.field(qd.f32, 4, needs_grad=True) for _ in range(2))


@qd.kernel
def recur(n: qd.i32):
    for i in x:
        v = x[i]
        for _ in range(n):
            v = qd.sin(v) + 0.1
        y[i] = v


try:
    recur.grad(64)
    if {sync}:
        qd.sync()
except qd.QuadrantsAssertionError as error:
    print("caught", "overflow" in str(error))
"""


@pytest.mark.parametrize("sync", [True, False])
def test_a_program_that_caught_an_overflow_ends_well(arch_name, arch_environment, tmp_path, monkeypatch, sync):
    for name, value in arch_environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "program.py").write_text(PROGRAM.format(sync=sync))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if sync or arch_name == "cpu":
        assert "caught True" in done.stdout


def test_a_bound_that_changes_behind_the_back_of_the_launch(init):
    """Zero-copy views are not tracked: an overflow is an error, the next launch is right; nothing is silently wrong."""
    torch = pytest.importorskip("torch")
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    x, y = field(POINTS), field(np.zeros(4))
    n = qd.ndarray(qd.i32, 4)

    @qd.kernel
    def k(n: qd.types.ndarray()):
        for i in x:
            v = x[i]
            for _ in range(n[i]):
                v = qd.sin(v) + 0.1
            y[i] = v

    n.fill(2)
    if qd.cfg.emulate or qd.cfg.arch in (qd.opencl, qd.vulkan):
        with pytest.raises(RuntimeError, match="no DLPack form"):
            n.to_dlpack()
        return
    view = torch.utils.dlpack.from_dlpack(n.to_dlpack())
    for _ in range(3):
        check(k, [x], [y], n, modes="r")
    view.fill_(64)
    try:
        check(k, [x], [y], n, modes="r")
    except qd.QuadrantsAssertionError as error:
        assert "overflow" in str(error)
    check(k, [x], [y], n, modes="r")


def test_an_overflow_names_every_stack_of_its_task(init, monkeypatch):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=16)
    kernel, *_ = recurrences()
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        kernel.grad(4, 40)
        qd.sync()
    assert "Slots of the stacks of this task: v 16, at 16, w 16." in str(caught.value)

    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    x, y, a = field(POINTS), field(np.zeros(4)), qd.ndarray(qd.i32, 2)

    @qd.kernel
    def k(a: qd.types.ndarray(), n: qd.i32):
        for i in x:
            v = x[i]
            for j in range(a[0]):
                v = qd.sin(v) + 0.1
            w = v
            for j in range(a[1]):
                w = qd.cos(w * v)
            for j in range(n):
                w = w * w * 0.5
            y[i] = v + w

    a.from_numpy(np.array([4, 7], np.int32))
    k.grad(a, 3)
    monkeypatch.setattr(type(a), "_written", lambda self: None)  # the launch does not hear of the next write
    a.fill(90)
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        k.grad(a, 3)
        qd.sync()
    assert "runs 90 times, and its stacks have room for 4. Slots of the stacks of this task: v 4, w 7, w 3." in str(
        caught.value
    )
