"""Objects put in memory without a linker: every relocation that is known, and nothing that is not."""

from __future__ import annotations

import ctypes
import random
import struct

import pytest

from quadrants.toolchain import build, cc, elf, loader
from quadrants.toolchain.build import statistics
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.errors import CompileError, ToolchainError

pytestmark = pytest.mark.skipif(not loader.available(), reason="objects are loaded on x86-64 Linux only")


def compiled(source, *extra):
    return cc.compile_object(source, name="k", options=CcOptions(extra=extra))


def call(image, name, result=ctypes.c_int, *arguments):
    kinds = [type(argument) for argument in arguments]
    return ctypes.CFUNCTYPE(result, *kinds)(image.address(name))(*arguments)


def kinds_in(data):
    return {relocation.kind for relocation in elf.parse(data).relocations}


# What makes the compiler use each kind, and what the function then returns. The kinds are of the x86-64 ABI.
USES = {
    "R_X86_64_64": (1, "static int a = 3, b = 4; int *p[2] = {&a, &b};\nint f(void) { return *p[0] + *p[1]; }", 7, ()),
    "R_X86_64_PC32": (2, "static int a = 3;\nint f(void) { return a++ + a; }", 7, ()),
    "R_X86_64_PLT32": (4, "extern int abs(int);\nint f(void) { return abs(-7); }", 7, ("-fno-builtin",)),
    "R_X86_64_PLT32 within": (
        4,
        '__attribute__((noinline, section(".text.g"))) int g(int x) { return x + 1; }\nint f(void) { return g(6); }',
        7,
        ("-fsemantic-interposition",),
    ),
    "R_X86_64_GOTPCREL": (
        9,
        "int a = 7;\nint f(void) { return a; }",
        7,
        ("-fsemantic-interposition", "-Wa,-mrelax-relocations=no"),
    ),
    "R_X86_64_GOTPCRELX": (
        41,
        "extern int abs(int);\nint f(void) { return abs(-7); }",
        7,
        ("-fno-plt", "-fno-builtin"),
    ),
    "R_X86_64_REX_GOTPCRELX": (42, "extern char **environ;\nint f(void) { return environ != 0 ? 7 : 0; }", 7, ()),
    "R_X86_64_PC64": (
        24,
        'int f(void) { long d; __asm__(".pushsection .rodata\\n0: .quad f - 0b\\n.popsection\\n'
        'lea 0b(%%rip), %0" : "=r"(d)); return d + *(long *)d == (long)f ? 7 : 0; }',
        7,
        (),
    ),
}


@pytest.mark.parametrize("name", USES)
def test_every_known_relocation(name):
    kind, source, expected, extra = USES[name]
    binary = compiled(source, *extra)
    assert kind in kinds_in(binary)
    assert call(loader.load(binary), "f") == expected


def test_data_zeroed_memory_constants_and_tables():
    source = """
    static int counter = 5; static int zeroed[5000]; static const double big[4096] = {[4095] = 2.5};
    int f(void) { zeroed[4999] += 1; return counter++ + zeroed[4999]; }
    double g(int i) { return big[i]; }
    int h(int i) { switch (i) { case 0: return f(); case 1: return 11; case 2: return 13 * f(); case 3: return 17;
                   case 4: return f() + 2; case 5: return 19; default: return -1; } }
    """
    image = loader.load(compiled(source))
    assert [call(image, "f"), call(image, "f")] == [6, 8]
    assert call(image, "g", ctypes.c_double, ctypes.c_int(4095)) == 2.5
    assert [call(image, "h", ctypes.c_int, ctypes.c_int(i)) for i in (1, 3, 5, 6)] == [11, 17, 19, -1]


def test_two_images_of_one_object_share_nothing():
    binary = compiled("static int n; int f(void) { return ++n; }")
    first, second = loader.load(binary), loader.load(binary)
    assert [call(first, "f"), call(first, "f"), call(second, "f")] == [1, 2, 1]


def test_functions_of_other_libraries():
    source = "extern double erf(double), sin(double); extern void *memset(void *, int, unsigned long);\n"
    source += "double f(double x) { return sin(x) + erf(x); }\nvoid g(char *p, unsigned long n) { memset(p, 7, n); }"
    source += "\nlong long h(long long a, long long b) { return (long long)(((__int128)a << 40) / b); }"
    image = loader.load(compiled(source))
    assert abs(call(image, "f", ctypes.c_double, ctypes.c_double(0.5)) - 0.9999254165) < 1e-9
    buffer = ctypes.create_string_buffer(5000)
    call(image, "g", None, ctypes.c_void_p(ctypes.addressof(buffer)), ctypes.c_ulong(5000))
    assert buffer.raw == b"\7" * 5000
    want = (3 << 70) // (7 << 40)
    assert call(image, "h", ctypes.c_longlong, ctypes.c_longlong(3 << 30), ctypes.c_longlong(7 << 40)) == want


def test_no_memory_is_both_written_and_executed():
    image = loader.load(compiled("static int n; extern double sin(double); double f(void) { return sin(++n); }"))
    address = image.address("f")
    seen = []
    with open("/proc/self/maps") as file:
        for line in file:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if start <= address < end or start == address:
                seen.append(line.split()[1])
    assert seen == ["r-xp"]


UNKNOWN = {
    "thread-local": ("static __thread int n; int f(void) { return ++n; }", ()),
    "code that runs at load": (
        "int n; __attribute__((constructor)) void g(void) { n = 7; }\nint f(void) { return n; }",
        (),
    ),
    "common": ("int n; int f(void) { return n = 7; }", ("-fcommon",)),
    "absolute 32-bit address": ("int n[4]; int f(int i) { return n[i]; }", ("-fno-pic", "-mcmodel=kernel")),
    "indirect function": (
        "static int g(void) { return 7; }\nstatic void *r(void) { return g; }\n"
        'int h(void) __attribute__((ifunc("r")));\nint f(void) { return h(); }',
        (),
    ),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_is_unknown_is_refused(what):
    source, extra = UNKNOWN[what]
    with pytest.raises(loader.Unsupported):
        loader.load(compiled(source, *extra))


def test_what_is_refused_goes_through_the_linker_and_is_kept(tmp_path):
    source = UNKNOWN["code that runs at load"][0]
    cache = DiskCache(str(tmp_path / "cache"))
    for compiles in (1, 0):
        before = statistics.compiled
        assert call(build.load_c(source, "k", cache=cache), "f") == 7
        assert statistics.compiled - before == compiles
        build.forget()


def test_what_only_the_linker_misses_is_a_failure_with_the_source_kept(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"))
    source = "extern int qd_nowhere(void);\nint f(void) { return qd_nowhere(); }"
    try:
        library = build.load_c(source, "my_kernel", cache=cache)
    except (CompileError, ToolchainError) as error:
        assert "qd_nowhere" in str(error) or "cannot be loaded" in str(error)
    else:
        # A shared object may leave a name to be found later: loading is lazy, and so is the failure.
        assert library.address("f") and not isinstance(library, loader.Image)


def test_an_object_is_loaded_from_disk_without_a_compile(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"))
    counts = []
    for _ in range(2):
        before = statistics.compiled, statistics.loaded
        assert call(build.load_c("int f(void) { return 7; }", "k", cache=cache), "f") == 7
        counts.append((statistics.compiled - before[0], statistics.loaded - before[1]))
        build.forget()
    assert counts == [(1, 0), (0, 1)]
    assert [entry.endswith(".o") for entry in map(lambda e: e.path, cache._entries())].count(True) == 1


def test_shared_objects_on_request(monkeypatch, tmp_path):
    monkeypatch.setenv("QD_LINK", "1")
    cache = DiskCache(str(tmp_path / "cache"))
    library = build.load_c("int f(void) { return 7; }", "k", cache=cache)
    assert call(library, "f") == 7 and not isinstance(library, loader.Image)
    with pytest.raises(ToolchainError, match="has no g"):
        library.address("g")


def test_a_name_that_is_not_there():
    with pytest.raises(ToolchainError, match="has no g"):
        loader.load(compiled("int f(void) { return 7; }")).address("g")


def test_too_many_relocations_are_for_the_linker():
    source = "extern int environ;\nvoid *f[3000] = {" + "&environ," * 3000 + "};"
    with pytest.raises(loader.Unsupported, match="3000 relocations"):
        loader.load(compiled(source))


def test_a_system_that_forbids_new_code_is_no_crash(monkeypatch):
    monkeypatch.setattr(loader, "_mprotect", lambda: lambda *arguments: -1)
    with pytest.raises(loader.Unsupported, match="become code"):
        loader.load(compiled("int f(void) { return 7; }"))
    assert call(build.load_c("int f(void) { return 7; } // linked", "k"), "f") == 7


def test_damaged_objects_are_refused_or_loaded_but_never_crash():
    """Loading runs nothing, so any bytes may be tried: they are refused with one exception, or give an image."""
    source = "extern double sin(double); static int n = 3; int *p = &n; double f(double x) { return sin(x) * n++; }"
    whole = compiled(source)
    chance = random.Random(7)
    outcomes = {"refused": 0, "loaded": 0}
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(100)]
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        damaged.append(bytes(content))
    for at in range(0x28, 0x40):
        damaged.append(whole[:at] + b"\xff" + whole[at + 1 :])
    for content in damaged:
        try:
            loader.load(content)
            outcomes["loaded"] += 1
        except loader.Unsupported:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 100 and outcomes["loaded"] > 0


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"MZ" * 100, struct.pack("<16sHH", b"\x7fELF\x02\x01\x01", 1, 183) + bytes(44)]
)
def test_what_is_no_object(data):
    with pytest.raises(loader.Unsupported):
        loader.load(data)


def test_code_still_runs_while_python_ends(python):
    code = """
import ctypes, threading, time
from quadrants.toolchain import build
library = build.load_c("int f(void) { for (volatile int i = 0; i < 1000000000; ++i); return 0; }", "k")
function = ctypes.CFUNCTYPE(ctypes.c_int)(library.address("f"))
threading.Thread(target=function, daemon=True).start()
time.sleep(0.1)
"""
    child = python(code)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")


def test_a_forked_child_calls_the_code_of_its_parent(python):
    code = """
import ctypes, os
from quadrants.toolchain import build
library = build.load_c("static int n; int f(void) { return ++n; }", "k")
function = ctypes.CFUNCTYPE(ctypes.c_int)(library.address("f"))
pid = os.fork()
if pid == 0:
    os._exit(function() + build.statistics.compiled)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), function())
"""
    out, err = python(code).communicate(timeout=60)
    assert (out.split(), err) == (["2", "1"], "")
