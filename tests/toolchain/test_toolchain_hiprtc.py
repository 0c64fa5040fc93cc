"""HIPRTC, which needs no GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from quadrants.toolchain import build, hiprtc, process
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.errors import CompileError, CompilerNotFound, CompileTimeout, ToolchainError

SOURCE = 'extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2.0f; }\n'


def _installed():
    try:
        hiprtc.find()
    except CompilerNotFound:
        return False
    return True


needs_hiprtc = pytest.mark.skipif(not _installed(), reason="needs HIPRTC (apt-get install libamdhip64-dev)")


@pytest.fixture
def nothing_known(monkeypatch):
    monkeypatch.setattr(hiprtc, "_found", None)
    monkeypatch.setattr(hiprtc, "_identity", None)


@needs_hiprtc
@pytest.mark.parametrize("arch", ["gfx90a", "gfx90a:sramecc+:xnack-", "gfx1030"])
def test_a_code_object(arch):
    code = hiprtc.compile(SOURCE, "twice", arch, hiprtc.flags(arch))
    assert code[:4] == b"\x7fELF" and b"twice.kd" in code


@needs_hiprtc
def test_options_reach_the_compiler():
    assert hiprtc.compile("#ifndef N\n#error no N\n#endif\n" + SOURCE, "twice", options=("-DN=1",))


@needs_hiprtc
def test_a_failure_shows_the_log():
    with pytest.raises(CompileError) as caught:
        hiprtc.compile(SOURCE.replace("threadIdx", "oops"), "twice")
    text = str(caught.value)
    assert "kernel 'twice' (dialect hip, gfx90a" in text and "use of undeclared identifier 'oops'" in text
    assert caught.value.dialect == "hip" and "comgr" not in text


@needs_hiprtc
def test_messages_name_the_line_of_the_user():
    with pytest.raises(CompileError, match=r"model.py:7:\d+: error"):
        hiprtc.compile('#line 7 "model.py"\noops', "twice")


@needs_hiprtc
def test_an_arch_the_library_does_not_know():
    assert "gfx90a" in hiprtc.supported_archs()
    with pytest.raises(ToolchainError, match=r"cannot compile for gfx1. It knows .*gfx90a"):
        hiprtc.compile(SOURCE, "twice", "gfx1")


@pytest.mark.parametrize("arch", ["", "90a", "gfx", "gfx90a;", "sm_90", "gfx90a:fast+"])
def test_an_arch_of_another_form(arch):
    with pytest.raises(ValueError, match="should look like 'gfx90a'"):
        hiprtc.compile(SOURCE, "twice", arch)


@needs_hiprtc
def test_a_compiler_that_breaks_down_ends_the_compile_alone(monkeypatch):
    hiprtc.find()
    dies = f"import os; print('out of something', flush=True); os.kill(os.getpid(), {int(signal.SIGSEGV)})"
    run = process.run
    monkeypatch.setattr(process, "run", lambda argv, *rest, **more: run([sys.executable, "-c", dies], *rest, **more))
    with pytest.raises(CompileError, match="broke down on kernel 'twice'") as caught:
        hiprtc.compile(SOURCE, "twice")
    assert "out of something" in str(caught.value) and f"signal {int(signal.SIGSEGV)}" in str(caught.value)


@needs_hiprtc
def test_a_compiler_that_hangs_is_stopped(monkeypatch):
    hiprtc.find()
    run = process.run
    sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(process, "run", lambda argv, *rest, **more: run(sleeps, *rest, **more))
    monkeypatch.setenv("QD_CC_TIMEOUT", "0.2")
    with pytest.raises(CompileTimeout, match="stopped after 0.2 s on kernel 'twice'.*QD_CC_TIMEOUT"):
        hiprtc.compile(SOURCE, "twice")


@needs_hiprtc
def test_noise_of_the_libraries_is_no_part_of_the_code(monkeypatch):
    options = hiprtc.flags("gfx90a")
    quiet = hiprtc.compile(SOURCE, "twice", options=options)
    run = process.run

    def noisy(*args, **more):
        finished = run(*args, **more)
        return finished._replace(output=b"a warning\n" + finished.output)

    monkeypatch.setattr(process, "run", noisy)
    assert hiprtc.compile(SOURCE, "twice", options=options) == quiet


@needs_hiprtc
def test_a_program_with_a_python_inside_compiles_in_its_own_process():
    """In a process of its own here, too: compilers that drivers of other devices bring do not go with this one."""
    program = f"""
import sys

from quadrants.toolchain import hiprtc, process

sys.frozen = True
process.run = lambda *args, **more: sys.exit("started a program")
assert b"twice.kd" in hiprtc.compile({SOURCE!r}, "twice")
print("compiled")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "compiled\n", done.stderr


@needs_hiprtc
def test_binaries_are_cached(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path))
    first = build.build_binary("hip", SOURCE, "twice", "gfx90a", cache=cache)
    other = build.build_binary("hip", SOURCE, "twice", "gfx1030", cache=cache)
    third = build.build_binary("hip", SOURCE, "twice", "gfx90a", options=("-O0",), cache=cache)
    assert cache.info().entries == 3 and first != other and first != third
    monkeypatch.setattr(hiprtc, "compile", lambda *arguments: pytest.fail("compiled again"))
    assert build.build_binary("hip", SOURCE, "twice", "gfx90a", cache=DiskCache(str(tmp_path))) == first


@needs_hiprtc
def test_a_failure_keeps_the_source(tmp_path):
    with pytest.raises(CompileError, match="Source kept in") as caught:
        build.build_binary("hip", "oops", "twice", "gfx90a", cache=DiskCache(str(tmp_path)))
    assert open(caught.value.source_path).read() == "oops" and caught.value.source_path.endswith(".hip")


@needs_hiprtc
def test_a_warm_start_does_not_run_the_compiler(tmp_path, nothing_known, monkeypatch):
    cache = DiskCache(str(tmp_path))
    first = build.build_binary("hip", SOURCE, "twice", "gfx90a", cache=cache)
    monkeypatch.setattr(hiprtc, "_found", None)
    monkeypatch.setattr(hiprtc, "_identity", None)
    monkeypatch.setattr(process, "run", lambda *args, **more: pytest.fail("started the compiler"))
    assert build.build_binary("hip", SOURCE, "twice", "gfx90a", cache=cache) == first


def test_without_the_library_the_error_names_the_package(monkeypatch, nothing_known):
    monkeypatch.setattr(hiprtc, "_candidates", lambda: iter(["/nowhere/libhiprtc.so"]))
    with pytest.raises(CompilerNotFound, match="apt-get install libamdhip64-dev.*ROCM_PATH") as caught:
        hiprtc.compile(SOURCE, "twice")
    assert "/nowhere/libhiprtc.so" in str(caught.value)


@pytest.mark.parametrize("variable, inside", [("ROCM_PATH", ("lib",)), (None, ("_rocm_sdk_core", "lib"))])
def test_a_library_that_is_something_else_is_passed_over(variable, inside, monkeypatch, tmp_path, nothing_known):
    folder = tmp_path.joinpath(*inside)
    folder.mkdir(parents=True)
    (folder / "libhiprtc.so.7").write_bytes(b"not a library")
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
    else:
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert next(hiprtc._candidates()) == str(folder / "libhiprtc.so.7")
    assert "libhiprtc.so.7" in hiprtc.identity()
    try:
        assert os.path.dirname(hiprtc.find()[0]) != str(folder)
    except CompilerNotFound as error:
        assert "libhiprtc.so.7" in str(error)


@needs_hiprtc
def test_small_numbers_are_flushed_and_floats_are_added_by_the_machine():
    options = hiprtc.flags("gfx90a")
    source = 'extern "C" __global__ void sum(float *x) { atomicAdd(x, x[threadIdx.x] / 3); }'
    code = hiprtc.compile(source, "sum", options=options)
    for option in ("-fgpu-flush-denormals-to-zero", "-munsafe-fp-atomics"):
        without = [other for other in options if other != option]
        assert hiprtc.compile(source, "sum", options=without) != code


@needs_hiprtc
def test_careful_arithmetic_rounds_each_operation():
    source = 'extern "C" __global__ void fma(float *x) { x[0] = x[1] * x[2] + x[3]; }'
    one, two = (hiprtc.compile(source, "fma", options=hiprtc.flags("gfx90a", fast_math=fast)) for fast in (True, False))
    assert one != two
