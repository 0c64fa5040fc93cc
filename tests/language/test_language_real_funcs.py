"""language.md 2.3: @qd.real_func, true calls."""

import pytest
from language_kit import alive, raises

import quadrants as qd


@qd.real_func
def factorial(n: qd.i32) -> qd.i64:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@qd.real_func
def first_above(a: qd.types.ndarray(), limit: qd.i32) -> tuple[qd.i32, qd.f32]:
    for i in range(a.shape[0]):
        if a[i] < 0:
            break
        if a[i] > limit:
            return i, a[i] + 0.5
    return -1, 0


@qd.real_func
def advance(x: qd.ref(qd.i32), by: qd.i32):
    if by == 0:
        return
    x += by


@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"))  # whose functions cannot call themselves: tests/opencl
def test_recursion(arch):
    @qd.kernel
    def run(n: qd.i32) -> qd.i64:
        return factorial(n) + qd.i64(1000) * factorial(n=2)

    @qd.kernel
    def parallel(out: qd.types.ndarray()):
        for i in out:
            out[i] = factorial(i)

    assert run(5) == 120 + 2000
    out = qd.ndarray(qd.i64, shape=6)
    parallel(out)
    assert [out[i] for i in range(6)] == [1, 1, 2, 6, 24, 120]


def test_early_returns(arch):
    @qd.kernel
    def search(a: qd.types.ndarray(), limit: qd.i32) -> qd.f32:
        at, value = first_above(a, limit)
        return 100 * at + value

    a = qd.ndarray(qd.i32, shape=4)
    for i, value in enumerate([1, 5, -1, 9]):
        a[i] = value
    assert [search(a, limit) for limit in (0, 3, 7)] == [1.5, 105.5, -100]


def test_references(arch):
    f = qd.field(qd.i32, shape=1)

    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        x = n
        advance(x, 5)
        advance(x, 0)
        return x

    @qd.kernel
    def element():
        advance(f[0], 1)

    assert run(2) == 7
    with raises(qd.QuadrantsSyntaxError, "cannot be passed by reference"):
        element()
    alive()


@qd.real_func
def is_even(x: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    found = x[0]
    if n > 0:
        found = is_odd(x, n - 1)
    return found


@qd.func
def without_one(x: qd.template(), n):
    return is_even(x, n - 1)


@qd.real_func
def is_odd(x: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    if n == 0:
        return x[1]
    return without_one(x, n)


@qd.real_func
def depths(n: qd.i32, found: qd.ref(qd.i32)) -> tuple[qd.i32, qd.f32]:
    found += 1
    if n <= 0:
        return 0, 0.5
    return deeper(n, found)


@qd.real_func
def deeper(n: qd.i32, found: qd.ref(qd.i32)) -> tuple[qd.i32, qd.f32]:
    at, half = depths(n - 1, found)
    assert at >= 0
    return at + 1, half


# Functions of Metal and OpenCL C cannot call themselves, by way of others neither: tests/opencl, tests/metal.
@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"))
def test_functions_call_each_other(arch):
    @qd.kernel
    def parallel(x: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in range(out.shape[0]):
            out[i] = is_even(x, i)

    x, out = qd.ndarray(qd.i32, shape=2), qd.ndarray(qd.i32, shape=9)
    x[0], x[1] = 10, 20
    parallel(x, out)
    assert [out[i] for i in range(9)] == [10, 20, 10, 20, 10, 20, 10, 20, 10]


@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"), debug=True)
def test_functions_that_call_each_other_return_several_values(arch):
    @qd.kernel
    def run(n: qd.i32) -> qd.f32:
        count = 0
        at, half = depths(n, count)
        return at * 100 + count + half

    assert [run(n) for n in (0, 1, 5)] == [1.5, 102.5, 506.5]


@qd.real_func
def endless(n: qd.i32) -> qd.i32:
    if n == -1:
        return 0
    return n * around(n + 1) + 1


@qd.real_func
def around(n: qd.i32) -> qd.i32:
    return endless(n) + endless(n + 1) * n


@qd.real_func
def depth_of(n: qd.i32) -> qd.i32:
    if n == 0:
        return 0
    return depth_of(n - 1) * 3 + 1 - depth_of(n - n)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.runtime(exclude=("cuda", "amdgpu", "opencl", "metal", "vulkan"))
def test_a_recursion_without_an_end_ends_the_launch(arch, parallel):
    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        return endless(n)

    @qd.kernel
    def run_all(x: qd.types.ndarray(), n: qd.i32):
        for i in x:
            x[i] = endless(n)

    x = qd.ndarray(qd.i32, 100_000)
    for _ in range(2):
        with pytest.raises(qd.QuadrantsRuntimeError) as told:
            run_all(x, 3) if parallel else run(3)
            qd.sync()
        assert "'around' called itself" in str(told.value) or "'endless' called itself" in str(told.value)
        assert f"in {'run_all' if parallel else 'run'}:" in str(told.value)
        assert "test_language_real_funcs.py" in str(told.value) and "endless(n)" in str(told.value)
        assert run(-1) == 0  # what follows runs


@pytest.mark.runtime(exclude=("cuda", "amdgpu", "opencl", "metal", "vulkan"))
def test_a_deep_recursion_with_an_end(arch):
    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        return depth_of(n)

    wanted = 0
    for _ in range(20_000):
        wanted = (wanted * 3 + 1) & 0xFFFFFFFF
    assert run(20_000) & 0xFFFFFFFF == wanted


@pytest.mark.runtime(exclude=("cpu", "cuda", "amdgpu"))
def test_recursion_is_refused_where_a_language_has_none(arch, arch_name):
    @qd.kernel
    def run(x: qd.types.ndarray(), n: qd.i32) -> qd.i32:
        return is_even(x, n)

    with raises(qd.QuadrantsCompilationError, f"functions of arch {arch_name}") as told:
        run(qd.ndarray(qd.i32, shape=2), 3)
    assert "without_one -> is_even -> is_odd -> without_one" in str(told.value)
    assert "test_language_real_funcs.py" in str(told.value)


@qd.real_func
def unannotated(n: qd.i32):
    return n


def test_errors(arch):
    @qd.kernel
    def no_type():
        unannotated(1)

    with raises(qd.QuadrantsSyntaxError, "annotate it with a return type"):
        no_type()
    with pytest.raises(qd.QuadrantsSyntaxError):
        qd.real_func(lambda x: x)
    alive()
