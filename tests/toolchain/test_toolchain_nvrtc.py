"""NVRTC, which needs no GPU."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from quadrants.runtime.device import BinaryBackend
from quadrants.toolchain import archive, build, drivers, nvrtc
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.errors import CompileError, CompilerNotFound

SOURCE = 'extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2.0f; }\n'


def _installed():
    try:
        nvrtc.find()
    except CompilerNotFound:
        return False
    return True


needs_nvrtc = pytest.mark.skipif(not _installed(), reason="needs NVRTC (pip install nvidia-cuda-nvrtc)")


@needs_nvrtc
def test_a_cubin():
    assert nvrtc.compile(SOURCE, "twice", "sm_90")[:4] == b"\x7fELF"


@needs_nvrtc
def test_ptx():
    text = nvrtc.compile(SOURCE, "twice", "compute_90")
    assert b".target sm_90" in text and b".entry twice" in text


@needs_nvrtc
def test_options_reach_the_compiler():
    assert nvrtc.compile("#ifndef N\n#error no N\n#endif\n" + SOURCE, "twice", options=("-DN=1",))


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_90", "compute_90"])
def test_a_long_text_has_all_its_kernels(arch):
    text = "".join(SOURCE.replace("twice", f"twice_{k}") for k in range(400))
    assert len(text) > nvrtc._LONG
    code = nvrtc.compile(text, "twice", arch)
    assert all(b"twice_%d\0" % k in code or b"twice_%d(" % k in code for k in range(400))
    with pytest.raises(CompileError, match='identifier "oops" is undefined'):
        nvrtc.compile(text.replace("threadIdx", "oops"), "twice", arch)


@needs_nvrtc
def test_every_unit_of_a_text_is_a_binary(tmp_path):
    parts = [SOURCE.replace("twice", name) for name in ("first", "second", "third")]
    text = "".join(f"#if !defined(QD_UNITS) || QD_UNITS & {1 << k}\n{part}#endif\n" for k, part in enumerate(parts))
    cache = DiskCache(str(tmp_path))
    code = build.build_binary("cuda", text, "k", "sm_90", cache=cache, units=3)
    for mine, binary in zip(("first", "second", "third"), archive.members(code), strict=True):
        there = {name for name in ("first", "second", "third") if name.encode() + b"\0" in binary}
        assert binary[:4] == b"\x7fELF" and there == {mine}
    assert build.build_binary("cuda", text, "k", "sm_90", cache=DiskCache(str(tmp_path)), units=3) == code
    with pytest.raises(CompileError, match='identifier "oops" is undefined'):
        build.build_binary("cuda", text.replace(parts[2], parts[2].replace("threadIdx", "oops")), "k", "sm_90", units=3)


def test_tasks_are_looked_for_in_the_binary_of_their_unit():
    device = SimpleNamespace(load=lambda code: SimpleNamespace(function=lambda name: (code, name)))
    launches = [SimpleNamespace(name=name, unit=unit) for name, unit in (("a", 1), ("b", 0), ("c", 1))]
    backend = SimpleNamespace(device=device)
    handles, kept = BinaryBackend.functions(backend, archive.joined([b"x", b"yy"]), SimpleNamespace(launches=launches))
    assert handles == [(b"yy", "a"), (b"x", "b"), (b"yy", "c")] and len(kept) == 2


@needs_nvrtc
def test_a_failure_shows_the_log():
    with pytest.raises(CompileError) as caught:
        nvrtc.compile(SOURCE.replace("threadIdx", "oops"), "twice")
    text = str(caught.value)
    assert "kernel 'twice'" in text and "dialect cuda" in text and 'identifier "oops" is undefined' in text
    assert caught.value.dialect == "cuda"


@needs_nvrtc
def test_an_arch_the_library_does_not_know():
    assert 90 in nvrtc.supported_archs()
    with pytest.raises(CompileError, match="sm_10"):
        nvrtc.compile(SOURCE, "twice", "sm_10")


@pytest.mark.parametrize("arch", ["", "90", "sm_", "sm_90;", "gfx90a"])
def test_an_arch_of_another_form(arch):
    with pytest.raises(ValueError, match="should look like 'sm_90'"):
        nvrtc.compile(SOURCE, "twice", arch)


@needs_nvrtc
def test_binaries_are_cached(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path))
    first = build.build_binary("cuda", SOURCE, "twice", "sm_90", cache=cache)
    ptx = build.build_binary("cuda", SOURCE, "twice", "compute_90", cache=cache)
    other = build.build_binary("cuda", SOURCE, "twice", "sm_90", options=("-lineinfo",), cache=cache)
    assert cache.info().entries == 3 and first != ptx and first != other
    monkeypatch.setattr(nvrtc, "compile", lambda *arguments: pytest.fail("compiled again"))
    assert build.build_binary("cuda", SOURCE, "twice", "sm_90", cache=DiskCache(str(tmp_path))) == first


@needs_nvrtc
def test_a_failure_keeps_the_source(tmp_path):
    with pytest.raises(CompileError, match="Source kept in") as caught:
        build.build_binary("cuda", "oops", "twice", "sm_90", cache=DiskCache(str(tmp_path)))
    assert open(caught.value.source_path).read() == "oops" and caught.value.source_path.endswith(".cu")


@needs_nvrtc
def test_a_warm_start_does_not_load_the_library(tmp_path, python):
    code = """
import subprocess
import sys
from quadrants.toolchain import build, nvrtc
from quadrants.toolchain.cache import DiskCache
build.build_binary("cuda", sys.argv[1], "twice", "sm_90", cache=DiskCache(sys.argv[2]))
print(nvrtc._library is not None)
"""
    for expected in ("True\n", "False\n"):
        out, err = python(code, SOURCE, str(tmp_path)).communicate(timeout=60)
        assert (out, err) == (expected, "")


def test_without_the_library_the_error_names_the_package(monkeypatch):
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/nowhere/libnvrtc.so"]))
    with pytest.raises(CompilerNotFound, match="pip install nvidia-cuda-nvrtc") as caught:
        nvrtc.compile(SOURCE, "twice")
    assert "/nowhere/libnvrtc.so" in str(caught.value)


class _Driver:
    """As the CUDA driver answers about its version."""

    def __init__(self, version: int):
        self.version = version

    def cuDriverGetVersion(self, pointer) -> int:  # noqa: N802 - the driver's name
        pointer._obj.value = self.version
        return 0


@pytest.mark.parametrize(
    "driver, command",
    [
        (_Driver(13010), "`pip install nvidia-cuda-nvrtc`"), (_Driver(12080), "`pip install nvidia-cuda-nvrtc-cu12`"),
        (None, "`pip install nvidia-cuda-nvrtc` (drivers before 580: `pip install nvidia-cuda-nvrtc-cu12`)"),
    ],
    ids=["580", "570", "none"],
)  # fmt: skip
def test_the_package_is_that_for_the_driver(monkeypatch, driver, command):
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))
    monkeypatch.setattr(drivers, "_open", lambda name: driver)
    with pytest.raises(CompilerNotFound) as caught:
        nvrtc.find()
    assert f"Install it with {command}, or set CUDA_HOME" in str(caught.value)


@needs_nvrtc
def test_one_that_is_too_old_is_passed_over(monkeypatch):
    """Those before 12.4 know neither the options nor all the functions that kernels are made of."""
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_OLDEST", (99, 5))
    with pytest.raises(CompilerNotFound, match=r"NVRTC \d+\.\d+ is older than 99\.5"):
        nvrtc.find()


def test_a_library_that_is_something_else_is_passed_over(monkeypatch, tmp_path):
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libnvrtc.so.13").write_bytes(b"not a library")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(nvrtc, "_library", None)
    assert next(nvrtc._candidates()) == str(folder / "libnvrtc.so.13")
    try:
        nvrtc.find()
    except CompilerNotFound as error:
        assert "libnvrtc.so.13" in str(error)


@needs_nvrtc
def test_prepared_in_a_thread():
    program = (
        "import threading\nfrom quadrants.toolchain import nvrtc\nnvrtc.prepare()\nnvrtc.prepare()\n"
        "[t.join() for t in threading.enumerate() if t.name == 'quadrants-nvrtc']\n"
        "print(nvrtc._library is not None, threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True 1"


def test_a_preparation_without_the_library_is_silent(monkeypatch):
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(("/nowhere/libnvrtc.so",)))
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_preparation", None)
    nvrtc.prepare()
    assert nvrtc._preparation is not None
    nvrtc._preparation.join()
    with pytest.raises(CompilerNotFound):
        nvrtc.find()


@needs_nvrtc
@pytest.mark.parametrize("fast", [True, False])
def test_flags_decide_about_contraction_and_division(fast):
    source = 'extern "C" __global__ void f(float *x) { x[0] = x[1] * x[2] + x[3]; x[4] = x[5] / x[6]; }'
    text = nvrtc.compile(source, "f", "compute_90", nvrtc.flags({"fast_math": fast}))
    assert (b"fma.rn.ftz.f32" in text) is fast
    assert (b"div.full.ftz.f32" in text) is fast and (b"div.rn.ftz.f32" in text) is not fast
