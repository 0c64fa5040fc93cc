"""Metal where it is missing, where it is not asked for, and where its compiler refuses a text."""

from __future__ import annotations

import builtins
import platform
import subprocess
import sys
from pathlib import Path

import metal_standin
import numpy as np
import pytest

import quadrants as qd
from quadrants import arch
from quadrants.errors import QuadrantsRuntimeError
from quadrants.toolchain import metal
from quadrants.toolchain.errors import CompileError

pytestmark = pytest.mark.cpu_only


@qd.kernel
def add(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
    for i in x:
        x[i] += n


# ---------------------------------------------------------------- what is missing


def refusal() -> str:
    with pytest.raises(QuadrantsRuntimeError) as caught:
        qd.init(arch=qd.metal, enable_fallback=False)
    return str(caught.value)


@pytest.mark.skipif(sys.platform == "darwin", reason="about systems without Metal")
def test_other_systems_are_told_what_it_takes():
    assert "metal lacks macOS 13 or newer on a Mac with an Apple processor" in refusal()
    assert not arch.is_arch_supported(qd.metal)


def test_pyobjc_is_named_where_it_is_missing(monkeypatch):
    plain = builtins.__import__

    def without(name, *rest):
        if name == "Metal":
            raise ModuleNotFoundError(f"No module named {name!r}")
        return plain(name, *rest)

    monkeypatch.setattr(metal, "on_mac", lambda: True)
    monkeypatch.delitem(sys.modules, "Metal", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    assert "metal lacks pyobjc-framework-Metal: `pip install 'quadrants[metal]'`" in refusal()


@pytest.mark.parametrize("families", [(), (1007,), (5001,), (1006, 5001)])
def test_older_devices_are_refused(standin, monkeypatch, families):
    monkeypatch.setattr(metal_standin.DeviceProxy, "families", families)
    assert "Metal 3 and the GPU family Apple7 (M1 and newer): Stand-in GPU has none" in refusal()


def test_older_systems_are_refused(standin, monkeypatch):
    monkeypatch.setattr(platform, "mac_ver", lambda: ("12.7.1", ("", "", ""), "arm64"))
    assert "macOS 13 or newer (this is 12.7.1)" in refusal()


def test_a_process_that_sees_no_device(standin, monkeypatch):
    monkeypatch.setattr(sys.modules["Metal"], "MTLCreateSystemDefaultDevice", lambda: None)
    assert "Metal shows none to this process" in refusal()


def test_a_device_by_its_number(standin, apple, monkeypatch):
    apple(device=0)
    with pytest.raises(ValueError, match="Invalid device=3, should be a number below 1"):
        apple(device=3)
    monkeypatch.setenv("QD_VISIBLE_DEVICE", "one")
    with pytest.raises(ValueError, match="Invalid QD_VISIBLE_DEVICE=one, should be a number below 1"):
        apple()


def test_libraries_that_are_not_there(standin, apple, monkeypatch):
    monkeypatch.setattr(metal, "LIBRARIES", ("/no/libobjc.dylib", standin.library._path))
    with pytest.raises(QuadrantsRuntimeError, match="the runtime of Objective-C cannot be opened"):
        apple()
    monkeypatch.setattr(metal, "LIBRARIES", (standin.library._path, "/no/Metal"))
    with pytest.raises(QuadrantsRuntimeError, match="the framework Metal cannot be opened"):
        apple()


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu)

@qd.kernel
def add(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in x:
        x[i] += 1

add(np.zeros(3, np.int32))
loaded = [name for name in sys.modules if "metal" in name.lower() or name == "objc"]
assert loaded == [], loaded
"""


def test_other_archs_load_nothing_of_it(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- the compiler


@qd.kernel
def takes(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
    for i in x:
        x[i] -= n


def test_errors_of_the_compiler_name_kernel_line_and_words(apple, monkeypatch):
    words = "Compilation failed: \n\nprogram_source:{}:5: error: use of undeclared identifier 'y'\n"
    apple()
    lines = takes.source(np.zeros(3, np.int32), 1).splitlines()
    line = next(at for at, one in enumerate(lines, 1) if "// takes:3" in one)
    monkeypatch.setattr(metal_standin.DeviceProxy, "answer", (None, metal_standin.Described(words.format(line))))
    with pytest.raises(CompileError) as caught:
        takes(np.zeros(3, np.int32), 1)
    said = str(caught.value)
    assert "The Metal compiler failed on kernel 'takes' (dialect metal, Stand-in GPU, macOS 14.5, " in said
    assert f"program_source:{line}:5: error: use of undeclared identifier 'y'" in said
    assert f"Line {line} of the source is\n  {lines[line - 1].strip()}" in said and "x[i] = " in lines[line - 1]
    assert __file__ in said and "Source kept in" in said
    assert caught.value.kernel == "takes" and caught.value.dialect == "metal"


def test_no_library_and_no_reason_is_an_error_too(apple, monkeypatch):
    apple()
    monkeypatch.setattr(metal_standin.DeviceProxy, "answer", (None, None))
    with pytest.raises(CompileError, match="Metal, which gave no library either, said nothing"):
        add(np.zeros(3, np.int32), 1)


def test_a_warning_is_no_error(apple, monkeypatch):
    def compiled(self, source, options, error):
        library, _ = metal_standin._compiled(source)
        return library, metal_standin.Described("program_source:3:5: warning: unused variable")

    apple()
    monkeypatch.setattr(metal_standin.DeviceProxy, "newLibraryWithSource_options_error_", compiled)
    x = np.zeros(3, np.int32)
    add(x, 2)
    assert x.tolist() == [2] * 3


def test_a_kept_text_is_compiled_once_in_each_process(apple, monkeypatch, tmp_path):
    compiled: list = []
    plain = metal_standin._compiled
    monkeypatch.setattr(metal_standin, "_compiled", lambda source: compiled.append(source) or plain(source))
    apple(offline_cache_file_path=str(tmp_path))
    x = np.zeros(3, np.int32)

    @qd.kernel
    def scale(a: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in a:
            a[i] = 2 * a[i] + 1

    scale(x)
    assert len(compiled) == 1 and len(list(tmp_path.rglob("*.msl"))) == 1
    apple(offline_cache_file_path=str(tmp_path))
    scale(x)
    assert len(compiled) == 2 and compiled[0] == compiled[1] and x.tolist() == [3] * 3


# ---------------------------------------------------------------- the build


@pytest.mark.slow
def test_the_driver_compiles_for_macos(tmp_path):
    pytest.importorskip("ziglang", reason="needs ziglang, which has the headers of macOS: pip install ziglang")
    folder = Path(__file__).parents[2] / "_ext"
    sources = [path for pattern in ("driver_metal*.cpp", "metal_*.cpp") for path in sorted(folder.glob(pattern))]
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "c++",
        "-target",
        "aarch64-macos",
        "-std=c++17",
        "-Wall",
        "-Werror",
        "-c",
    ]
    for source in sources:
        made = tmp_path / f"{source.stem}.o"
        done = subprocess.run([*command, source, "-o", made], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and made.exists(), done.stderr
    assert len(sources) == 6
