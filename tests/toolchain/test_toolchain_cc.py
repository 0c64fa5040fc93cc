"""Compiling C: flags, failures, limits."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import pytest

from quadrants.toolchain import build, cc, scratch
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.errors import CompileError, CompileTimeout, ToolchainError


def load(source, options=CcOptions()):
    return ctypes.CDLL(build.build_c(source, "probe", options))


def test_fast_math_keeps_nan_and_infinity():
    source = """
    int qd_isnan(double x) { return x != x; }
    int qd_isinf(double x) { return x == __builtin_inf() || x == -__builtin_inf(); }
    int qd_less(double x) { return x < __builtin_inf(); }
    """
    library = load(source, CcOptions(fast_math=True))
    f64 = ctypes.c_double
    assert [library.qd_isnan(f64(x)) for x in (float("nan"), 1.0)] == [1, 0]
    assert [library.qd_isinf(f64(x)) for x in (float("inf"), float("-inf"), 1.0)] == [1, 1, 0]
    assert [library.qd_less(f64(x)) for x in (float("inf"), 1.0, float("nan"))] == [0, 1, 0]


def test_without_fast_math_nothing_is_contracted_or_reassociated():
    source = "double qd_f(double a, double b, double c) { return a * b + c; }\n"
    source += "double qd_g(double a, double b) { return (a + b) - a; }"
    library = load(source, CcOptions(fast_math=False))
    library.qd_f.restype = library.qd_g.restype = ctypes.c_double
    a = 1.0 + 2.0**-30
    f64 = ctypes.c_double
    assert library.qd_f(f64(a), f64(a), f64(-1.0)) == a * a - 1.0
    assert library.qd_g(f64(1e16), f64(1.0)) == (1e16 + 1.0) - 1e16


def test_integers_wrap():
    library = load("int qd_f(int x) { return x + 1 < x; }")
    assert library.qd_f(2**31 - 1) == 1


@pytest.mark.parametrize(
    "text, expected",
    [
        ("float f(float x) { return sinf(x); }", True),
        ("x = __builtin_powf(a, b);", True),
        ("y = exp2(x) + lroundf(z)", True),
        ("float v = atan2f(y, x);", True),
        ("int qd_sin_table(int x);", False),
        ("int powder(void); float cosine; int analog;", False),
    ],
)
def test_libm_is_linked_when_named(text, expected):
    assert cc.needs_libm(text) is expected


def test_libm_functions_bind_to_libm():
    source = "extern double sin(double), erf(double);\ndouble qd_f(double x) { return sin(x) + erf(x); }"
    library = load(source)
    library.qd_f.restype = ctypes.c_double
    assert abs(library.qd_f(ctypes.c_double(0.5)) - 0.9999254165) < 1e-9


def test_what_libgcc_provides_is_there():
    source = "typedef struct { long long q; } r;\n"
    source += "long long qd_f(long long a, long long b) { return (long long)(((__int128)a << 40) / b); }"
    library = load(source)
    library.qd_f.restype = ctypes.c_longlong
    assert library.qd_f(ctypes.c_longlong(3 << 30), ctypes.c_longlong(7 << 40)) == (3 << 70) // (7 << 40)


def test_libc_functions_come_from_the_process():
    source = "extern void *memset(void *, int, unsigned long);\n"
    source += "void qd_f(char *p, unsigned long n) { memset(p, 7, n); }"
    buffer = ctypes.create_string_buffer(5000)
    load(source).qd_f(buffer, ctypes.c_ulong(5000))
    assert buffer.raw == b"\7" * 5000


@pytest.mark.parametrize("options", [CcOptions(opt_level=0), CcOptions(debug=True), CcOptions(extra=("-DN=5",))])
def test_options_compile(options):
    assert load("#ifndef N\n#define N 5\n#endif\nint qd_f(void) { return N; }", options).qd_f() == 5


def test_a_failure_names_kernel_dialect_size_and_first_messages():
    with pytest.raises(CompileError) as caught:
        cc.compile("int f(void) {\n  return oops;\n}\n", name="my_kernel")
    text = str(caught.value)
    assert "kernel 'my_kernel'" in text and "dialect c" in text and "4 lines" in text and "'oops' undeclared" in text
    assert caught.value.kernel == "my_kernel" and caught.value.dialect == "c" and "oops" in caught.value.log


@pytest.mark.parametrize("said", ["_Float16 is not supported on this target", "unknown type name '_Float16'"])
def test_a_compiler_without_halves_is_told_apart(fake_cc, said):
    fake_cc(f'echo "<stdin>:1:5: error: {said}" >&2; exit 1')
    with pytest.raises(CompileError, match="has no f16: install gcc 12 or clang 15, .* QD_CC .* or use f32"):
        cc.compile("_Float16 x;\n", name="k")
    fake_cc('echo "<stdin>:1:5: error: incompatible types: _Float16 and char *" >&2; exit 1')
    with pytest.raises(CompileError) as caught:
        cc.compile("_Float16 x;\n", name="k")
    assert "has no f16" not in str(caught.value)


def test_of_many_messages_the_first_are_shown():
    source = "\n".join(f"int f{i}(void) {{ return oops{i}; }}" for i in range(50))
    with pytest.raises(CompileError) as caught:
        cc.compile(source, name="k")
    text = str(caught.value)
    assert "oops0" in text and "oops2" in text and "oops9" not in text and "oops49" in caught.value.log


def test_a_hanging_compiler_is_stopped_with_its_children(fake_cc, monkeypatch, tmp_path):
    marker = tmp_path / "child"
    fake_cc(f"sleep 300 & echo $! > {marker}; wait")
    monkeypatch.setenv("QD_CC_TIMEOUT", "0.5")
    start = time.monotonic()
    with pytest.raises(CompileTimeout, match=r"after 0.5 s on kernel 'slow'.*QD_CC_TIMEOUT"):
        cc.compile("int x;", name="slow")
    assert time.monotonic() - start < 10
    child = int(marker.read_text())
    for _ in range(100):
        if not running(child):
            break
        time.sleep(0.02)
    assert not running(child)


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan"])
def test_a_bad_time_limit_is_an_error(monkeypatch, text):
    monkeypatch.setenv("QD_CC_TIMEOUT", text)
    with pytest.raises(ToolchainError, match=f"QD_CC_TIMEOUT={text}"):
        cc.compile("int x;", name="k")


def test_a_compiler_that_is_killed(fake_cc):
    fake_cc("kill -11 $$")
    with pytest.raises(CompileError, match="was killed by signal 11 on kernel 'k'"):
        cc.compile("int x;", name="k")


def test_a_compiler_that_claims_success_and_writes_nothing(fake_cc):
    fake_cc("exit 0")
    with pytest.raises(CompileError, match="reported success .* but wrote no binary"):
        cc.compile("int x;", name="k")


def test_a_compiler_that_does_not_read_its_input(fake_cc):
    fake_cc("exec 0<&-; exit 4")
    with pytest.raises(CompileError, match="exit status 4"):
        cc.compile("int x;\n" * 200_000, name="k")


def test_a_compiler_that_vanishes_between_probe_and_use(fake_cc):
    path = fake_cc("exit 0")
    found = cc.find_compiler()
    os.unlink(path)
    with pytest.raises(ToolchainError, match="cannot be started"):
        cc.compile("int x;", name="k", compiler=found)


def test_a_full_folder_for_temporary_files_gives_way_to_the_next(tmpfs, monkeypatch, tmp_path):
    small = tmpfs("size=16k")
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(scratch, "candidates", lambda: iter([str(small), str(tmp_path / "other")]))
    assert cc.compile("int x[4096] = {1};", name="k")[:4] == b"\x7fELF"
    assert os.listdir(scratch.folder(str(tmp_path / "other"))) == ["in-use"]


def test_no_folder_for_temporary_files(monkeypatch):
    monkeypatch.setattr(scratch, "candidates", lambda: iter(["/proc"]))
    with pytest.raises(ToolchainError, match="QD_TMP_DIR"):
        cc.compile("int x;", name="k")


def test_nothing_is_left_behind(monkeypatch, tmp_path):
    monkeypatch.setenv("QD_TMP_DIR", str(tmp_path))
    cc.compile("int x;", name="k")
    with pytest.raises(CompileError):
        cc.compile("int", name="k")
    assert os.listdir(scratch.folder(str(tmp_path))) == ["in-use"]


def test_compiles_run_beside_each_other():
    failures = []

    def work(i):
        try:
            assert f"answer_{i}".encode() in cc.compile(f"int answer_{i}(void) {{ return {i}; }}", name="k")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
