"""Building: what is compiled, what is reused, what happens to failures."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import pytest
from toolchain_kit import SOURCE, answer

from quadrants import _logging
from quadrants.toolchain import build, scratch
from quadrants.toolchain.build import Request, statistics
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.errors import CompileError, CompileTimeout


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "cache"))


def counted(source=SOURCE, **arguments):
    """Build, and say (path, compiles, loads from disk)."""
    before = statistics.compiled, statistics.loaded
    path = build.build_c(source, "k", **arguments)
    assert ctypes.CDLL(path).qd_answer(20) == 41
    return path, statistics.compiled - before[0], statistics.loaded - before[1]


def test_compiled_once_then_reused_then_loaded(cache):
    path, *counts = counted(cache=cache)
    assert counts == [1, 0] and path.startswith(cache.root)
    assert counted(cache=cache) == (path, 0, 0)
    build.forget()
    assert counted(cache=DiskCache(cache.root)) == (path, 0, 1)


def test_without_a_cache_the_file_is_private_and_reused_in_the_process():
    path, *counts = counted(SOURCE + "// private")
    assert counts == [1, 0]
    assert os.path.dirname(path) in scratch._folders.values()
    assert counted(SOURCE + "// private") == (path, 0, 0)


def test_another_source_flag_or_compiler_is_another_build(cache, fake_cc, gcc):
    fake_cc(f'exec {gcc} "$@"')
    paths = [
        counted(cache=cache)[0],
        counted(SOURCE + "\n", cache=cache)[0],
        counted(cache=cache, options=CcOptions(fast_math=False))[0],
        counted(cache=cache, options=CcOptions(opt_level=1))[0],
    ]
    fake_cc(f'exec {gcc} "$@"', name="another-cc")
    paths.append(counted(cache=cache)[0])
    assert len(set(paths)) == 5


def test_an_edited_compiler_is_another_build(cache, fake_cc, gcc):
    from quadrants.toolchain import compiler

    fake_cc(f'exec {gcc} "$@"')
    first = counted(cache=cache)
    fake_cc(f'exec {gcc} "$@"  # patched')
    compiler._found.clear()
    build.forget()
    second = counted(cache=cache)
    assert second[0] != first[0] and second[1] == 1


@pytest.mark.parametrize("damage", ["truncate", "empty", "garbage", "flip"])
def test_every_damaged_file_is_compiled_again_and_replaced(cache, damage):
    counted(cache=cache)
    for where, _, names in os.walk(cache.root):
        for name in names:
            path = os.path.join(where, name)
            content = bytearray(open(path, "rb").read())
            content = {
                "truncate": content[: len(content) // 2],
                "empty": b"",
                "garbage": os.urandom(len(content)),
                "flip": content[:100] + bytes([content[100] ^ 1]) + content[101:],
            }[damage]
            os.unlink(path)  # a file that is loaded must not change under the process
            with open(path, "wb") as file:
                file.write(content)
    build.forget()
    assert counted(cache=DiskCache(cache.root))[1:] == (1, 0)
    build.forget()
    assert counted(cache=DiskCache(cache.root))[1:] == (0, 1)


def test_a_file_that_went_away_is_compiled_again(cache):
    path = counted(cache=cache)[0]
    cache.clear()
    assert counted(cache=cache) == (path, 1, 0)


def test_threads_that_want_the_same_text_compile_it_once(cache):
    before = statistics.compiled
    paths = []
    threads = [threading.Thread(target=lambda: paths.append(build.build_c(SOURCE, "k", cache=cache))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 6 and len(set(paths)) == 1 and statistics.compiled == before + 1


@pytest.mark.parametrize("threads", [1, 3])
def test_many(cache, threads):
    requests = [Request(f"int qd_value(void) {{ return {i}; }}", f"k{i}") for i in range(7)]
    paths = build.build_many(requests, cache, threads)
    assert [ctypes.CDLL(path).qd_value() for path in paths] == list(range(7))
    assert build.build_many([], cache, threads) == []


def test_many_run_at_once(fake_cc, gcc):
    fake_cc(f'sleep 0.5; exec {gcc} "$@"')
    start = time.monotonic()
    build.build_many([Request(f"int x{i};", "k") for i in range(4)], None, 4)
    assert time.monotonic() - start < 1.8


def test_of_many_the_good_ones_are_kept_when_one_fails(cache):
    requests = [
        Request("int a;", "good"),
        Request("int", "first_bad"),
        Request("in", "second_bad"),
        Request("int b;", "good"),
    ]
    with pytest.raises(CompileError, match="first_bad"):
        build.build_many(requests, cache, 4)
    before = statistics.compiled
    build.build_many([requests[0], requests[3]], cache, 4)
    assert statistics.compiled == before


def test_a_failure_keeps_the_source_and_fails_the_same_way_again(cache):
    for _ in range(2):
        with pytest.raises(CompileError, match="Source kept in") as caught:
            build.build_c("int f(void) { return oops; }", "my_kernel", cache=cache)
        assert caught.value.source_path.startswith(os.path.join(cache.root, "failed", "my_kernel-"))
        assert open(caught.value.source_path).read() == "int f(void) { return oops; }"
        assert caught.value.source_path in str(caught.value) and caught.value.kernel == "my_kernel"
    assert counted(cache=cache)[1] == 1


def test_a_failure_without_a_cache_keeps_the_source_too(monkeypatch, tmp_path):
    monkeypatch.setenv("QD_TMP_DIR", str(tmp_path))
    with pytest.raises(CompileError) as caught:
        build.build_c("oops", "my_kernel")
    assert caught.value.source_path.startswith(str(tmp_path)) and open(caught.value.source_path).read() == "oops"


def test_a_timeout_keeps_its_class_and_the_source(fake_cc, monkeypatch, cache):
    fake_cc("sleep 300")
    monkeypatch.setenv("QD_CC_TIMEOUT", "0.3")
    with pytest.raises(CompileTimeout, match="Source kept in"):
        build.build_c(SOURCE, "k", cache=cache)


def test_load_survives_a_file_the_system_refuses(cache):
    found = build.cc.find_compiler(cache)
    key = build.make_key(SOURCE, "c", build.cc.identity(found, CcOptions()))
    cache.put(key, b"whole, yet no library")
    cache.put(key, b"whole, yet no object", ".o")
    for _ in range(2):
        assert answer(build.load_c(SOURCE, "k", cache=cache))(20) == 41
        build.forget()


def test_real_compiles_are_logged_on_request(monkeypatch, cache):
    lines = []
    monkeypatch.setattr(_logging, "info", lines.append)
    counted(cache=cache)
    monkeypatch.setenv("QD_SHOW_COMPILING", "1")
    counted(SOURCE + "// 2", cache=cache)
    counted(SOURCE + "// 2", cache=cache)
    assert lines == ["Compiling kernel 'k'"]


def test_a_forked_child_does_not_take_the_parents_private_files(python):
    code = f"""
import os, sys
from quadrants.toolchain import build
import ctypes
first = build.build_c({SOURCE!r}, "k")
pid = os.fork()
if pid == 0:
    second = build.build_c({SOURCE!r}, "k")
    ok = second != first and ctypes.CDLL(second).qd_answer(20) == 41
    sys.exit(0 if ok else 1)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), os.path.exists(first))
"""
    child = python(code)
    out, err = child.communicate(timeout=60)
    assert (out.split(), err) == (["0", "True"], "")


def test_private_folders_go_at_exit_and_after_a_kill(python, tmp_path):
    code = f"""
import os, sys
from quadrants.toolchain import build
print(build.build_c({SOURCE!r}, "k"), flush=True)
if sys.argv[1] == "kill": os.kill(os.getpid(), 9)
"""
    for how, expected in (("exit", 0), ("kill", 1), ("exit", 0)):
        child = python(code, how, QD_TMP_DIR=str(tmp_path))
        out, _ = child.communicate(timeout=60)
        assert out.startswith(str(tmp_path))
        assert len(os.listdir(tmp_path)) == expected, how


def test_the_private_folder_of_a_living_process_is_left_alone(python, tmp_path):
    code = f"""
import sys
from quadrants.toolchain import build
print(build.build_c({SOURCE!r}, "k"), flush=True)
sys.stdin.read() if len(sys.argv) > 1 else None
"""
    import subprocess
    import sys as system

    from toolchain_kit import ROOT

    env = {**os.environ, "PYTHONPATH": ROOT, "ENABLE_QUADRANTS_HEADER_PRINT": "0", "QD_TMP_DIR": str(tmp_path)}
    with subprocess.Popen(
        [system.executable, "-c", code, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as first:
        path = first.stdout.readline().strip()
        python(code, QD_TMP_DIR=str(tmp_path)).communicate(timeout=60)
        assert os.path.exists(path)
        first.stdin.close()
    assert os.listdir(tmp_path) == []
