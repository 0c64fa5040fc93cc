"""Calls: misses, binding, methods, reset, tracing, hooks, threads."""

import copy
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from core_native import Recorder, entry

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

ECHO = entry("")


def echo_plan(args=None):
    return core.Plan(ECHO, bytes(8), [], [("i32", 0, 0, None)], ("i32", 0), name="echo")


def echo():
    return Recorder([core.SCALAR], lambda args: echo_plan())


def test_the_first_call_compiles_and_later_ones_do_not():
    kernel = echo()
    assert [kernel(i) for i in range(5)] == list(range(5))
    assert kernel.misses == [(0,)] and len(kernel.launcher) == 1 and kernel.launcher


def test_a_launcher_is_true_before_it_has_plans():
    assert echo().launcher and len(echo().launcher) == 0


@pytest.mark.parametrize("kwargs", [{"a": 1, "b": 2}, {"b": 2}, {}])
def test_keywords_go_through_bind(kwargs):
    plan = core.Plan(ECHO, bytes(8), [], [("i32", 0, 0, None), ("i32", 1, 4, None)], ("i32", 4))
    kernel = Recorder([core.SCALAR] * 2, plan)
    assert kernel(*(1, 2)[: 2 - len(kwargs)], **kwargs) == 2


def test_a_wrong_count_goes_through_bind():
    def bind(args, kwargs):
        raise TypeError(f"bind saw {args} {kwargs}")

    kernel = core.Launcher([core.SCALAR], lambda args: echo_plan(), bind, None)
    for args, kwargs in [((), {}), ((1, 2), {}), ((1,), {"x": 3})]:
        with pytest.raises(TypeError, match="bind saw"):
            kernel(*args, **kwargs)


def test_bind_must_return_every_argument():
    kernel = core.Launcher([core.SCALAR], lambda args: echo_plan(), lambda args, kwargs: (), None)
    with pytest.raises(TypeError, match="0 arguments for 1 parameters"):
        kernel()


def test_a_failing_compile_is_repeated_and_leaves_nothing_behind():
    def fail(args):
        raise SyntaxError("bad kernel")

    kernel = Recorder([core.SCALAR], fail)
    for _ in range(2):
        with pytest.raises(SyntaxError, match="bad kernel"):
            kernel(1)
    assert len(kernel.misses) == 2 and len(kernel.launcher) == 0


def test_compile_miss_must_return_a_plan():
    with pytest.raises(TypeError, match="must return a Plan"):
        Recorder([], lambda args: None)()


def test_unknown_kinds_and_missing_or_repeated_init():
    with pytest.raises(ValueError, match="unknown kind"):
        core.Launcher([99], None, None, None)
    with pytest.raises(TypeError, match="__init__ was not called"):
        core.Launcher.__new__(core.Launcher)()
    with pytest.raises(TypeError, match="twice"):
        echo().launcher.__init__([], None, None, None)


class Kernel(core.Launcher):
    def __init__(self, name):
        super().__init__([core.OPAQUE, core.SCALAR], self.compile, self.bind_arguments, None)
        self.__name__ = name
        self.seen = []
        self.grad = None

    def compile(self, args):
        def packer(value, view, offset):
            self.seen.append(value)

        pack = [("call", 0, 0, packer), ("i32", 1, 0, None)]
        return core.Plan(ECHO, bytes(8), [], pack, ("i32", 0))

    def bind_arguments(self, args, kwargs):
        return (*args, kwargs["n"])


def make_class():
    class Solver:
        step = Kernel("step")

    Solver.step.grad = Kernel("step_grad")
    return Solver, Solver.step


def test_methods_bind_the_instance_with_and_without_keywords():
    Solver, kernel = make_class()
    solver = Solver()
    method = solver.step
    assert [solver.step(1), method(2), method(n=3), solver.step(n=4), method(*[5])] == [1, 2, 3, 4, 5]
    assert kernel.seen == [solver] * 5
    assert list(map(method, [6, 7])) == [6, 7]
    assert Solver.step is kernel and Solver.step(solver, 8) == 8


def test_bound_kernels_pass_attributes_through():
    Solver, kernel = make_class()
    solver = Solver()
    method = solver.step
    assert method.__name__ == "step" and method.__self__ is solver and method.__func__ is kernel
    assert method == solver.step and hash(method) == hash(solver.step) and method != Solver().step
    assert solver.step.grad(9) == 9 and kernel.grad.seen == [solver]
    assert "bound kernel" in repr(method)
    with pytest.raises(AttributeError):
        getattr(method, "nothing")  # noqa: B009


def test_a_kernel_stored_on_an_instance_does_not_bind():
    class Holder:
        pass

    holder = Holder()
    holder.kernel = echo().launcher
    assert holder.kernel(4) == 4


def test_a_subclass_may_replace_calling_and_binding():
    class Counting(Kernel):
        calls = 0

        def __call__(self, *args, **kwargs):
            self.calls += 1
            return super().__call__(*args, **kwargs)

        def __get__(self, instance, owner):
            return "bound by the subclass"

    class Solver:
        step = Counting("step")

    assert Solver().step == "bound by the subclass"
    kernel = Solver.__dict__["step"]
    assert kernel(None, 5) == 5 and kernel(None, n=6) == 6 and kernel.calls == 2


def test_kernels_copy_as_themselves():
    kernel = echo().launcher
    assert copy.copy(kernel) is kernel and copy.deepcopy({"k": kernel})["k"] is kernel


def test_clear_forgets_and_recompiles():
    kernel = echo()
    kernel(1)
    kernel.launcher.clear()
    assert len(kernel.launcher) == 0
    kernel(2)
    assert len(kernel.misses) == 2


def test_clear_all_reaches_every_launcher_and_frees_plans():
    kernels = [echo() for _ in range(3)]
    for kernel in kernels:
        kernel(1)
    dead = weakref.ref(kernels[0].launcher._plans[0])
    core.clear_all()
    assert dead() is None and all(len(kernel.launcher) == 0 for kernel in kernels)


def test_a_plan_compiled_before_a_reset_is_not_stored_after_it():
    def plan(args):
        if len(kernel.misses) == 1:
            core.clear_all()
        return echo_plan()

    kernel = Recorder([core.SCALAR], plan)
    assert kernel(1) == 1 and len(kernel.launcher) == 1
    assert len(kernel.misses) == 2  # the plan of the time before is not what ran
    assert kernel(2) == 2 and len(kernel.misses) == 2


def test_launchers_and_what_plans_keep_die():
    class Tree:
        pass

    tree = Tree()
    kernel = Recorder([], core.Plan(ECHO, b"", keepalive=tree))
    kernel()
    alive = weakref.ref(tree)
    launcher = weakref.ref(kernel.launcher)
    del tree
    gc.collect()
    assert alive() is not None
    del kernel
    gc.collect()
    assert alive() is None and launcher() is None


def test_keepalive_that_runs_a_kernel_when_it_dies():
    inner = echo()
    inner(0)

    class Noisy:
        def __del__(self):
            results.append(inner(7))

    results = []
    kernel = Recorder([core.SCALAR], lambda args: core.Plan(ECHO, b"", keepalive=Noisy()))
    for _ in range(20):
        kernel(1)
        kernel.launcher.clear()
    gc.collect()
    assert results == [7] * 20


def test_without_a_runtime_every_call_asks_the_compiler():
    kernel = echo()
    kernel(1)

    def refuse(args):
        raise QuadrantsRuntimeError("Maybe you forgot to call `qd.init()` first?")

    kernel.plan = refuse
    core.set_active(False)
    try:
        with pytest.raises(QuadrantsRuntimeError, match="qd.init"):
            kernel(1)
    finally:
        core.set_active(True)
    assert kernel(1) == 1


def test_traced_calls_are_routed_to_the_hook():
    kernel = echo()
    kernel(1)

    def refuse(called):
        assert called is kernel.launcher
        raise SyntaxError("Kernels cannot call other kernels")

    core.set_on_traced_call(refuse)
    core.enter_tracing()
    core.enter_tracing()
    try:
        assert core.tracing_depth() == 2
        core.leave_tracing()
        with pytest.raises(SyntaxError, match="cannot call"):
            kernel(1)
        core.set_on_traced_call(lambda called: None)
        assert kernel(3) == 3
    finally:
        core.leave_tracing()
        core.set_on_traced_call(None)
    assert kernel(2) == 2
    with pytest.raises(QuadrantsRuntimeError, match="without"):
        core.leave_tracing()


class SomeStream(core.StreamBase):
    def _launch_handle(self):
        return 0


def test_the_launch_hook_sees_complete_arguments():
    kernel = echo()
    seen = []
    core.set_on_launch(lambda called, args: seen.append((called, args)))
    try:
        assert kernel(3) == 3 and kernel(a=4) == 4
    finally:
        core.set_on_launch(None)
    kernel(5)
    assert seen == [(kernel.launcher, (3,)), (kernel.launcher, (4,))]


def test_the_launch_hook_may_name_another_launcher():
    kernel, other = echo(), echo()
    seen = []

    def instead(called, args):
        seen.append((called, args))
        return other.launcher

    core.set_on_launch(instead)
    try:
        assert kernel(3) == 3
        assert (len(kernel.launcher), len(other.launcher), seen) == (0, 1, [(kernel.launcher, (3,))])
        core.set_on_launch(lambda called, args: "another")
        with pytest.raises(TypeError, match="not callable"):
            kernel(3)
    finally:
        core.set_on_launch(None)
    assert kernel(3) == 3 and len(kernel.launcher) == 1


def test_launches_that_may_not_go_to_a_stream():
    kernel = echo()
    stream = SomeStream()
    core.set_on_launch(lambda called, args: None, "no streams here")
    try:
        with pytest.raises(QuadrantsRuntimeError, match="no streams here"):
            kernel(3, qd_stream=stream)
        assert kernel(3, qd_stream=None) == 3
    finally:
        core.set_on_launch(None)
    assert kernel(3, qd_stream=stream) == 3
    kernel.launcher.stream_refusal = "not this one"
    with pytest.raises(QuadrantsRuntimeError, match="not this one"):
        kernel(3, qd_stream=stream)
    assert kernel(3) == 3


def test_seed_and_ordinal_reach_the_kernel():
    body = "AT(uint64_t, 0) = rt->seed; AT(uint64_t, 8) = rt->launch; AT(int32_t, 16) = rt->abi;"
    kernel = Recorder([], core.Plan(entry(body), bytes(24), ret=lambda view: np.frombuffer(view, np.uint64).tolist()))
    core.set_seed(-1)
    assert [kernel() for _ in range(2)] == [[2**64 - 1, 1, 2], [2**64 - 1, 2, 2]]
    core.set_seed(0)
    assert kernel() == [0, 1, 2] and core.launch_count() == 1


def test_the_gil_is_released_while_native_code_runs():
    kernel = Recorder([], core.Plan(entry("usleep(200000);"), b""))
    kernel_thread = threading.Thread(target=kernel)
    kernel_thread.start()
    ticks = 0
    while kernel_thread.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 20


def test_many_threads_launch_one_kernel_with_their_own_blocks():
    body = "int32_t v = AT(int32_t, 0); for (volatile int i = 0; i < 300; ++i) ; AT(int32_t, 0) = v * 2;"
    kernel = Recorder([core.SCALAR], core.Plan(entry(body), bytes(8), [], [("i32", 0, 0, None)], ("i32", 0)))
    wrong = []

    def work(k):
        for i in range(2000):
            if kernel(i * 8 + k) != 2 * (i * 8 + k):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_clearing_while_other_threads_launch():
    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, bytes(8), [], [("i32", 0, 0, None)], ("i32", 0)))
    stop = threading.Event()
    wrong = []

    def work(k):
        while not stop.is_set():
            if kernel(k) != k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        time.sleep(0.001)
        core.clear_all()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
