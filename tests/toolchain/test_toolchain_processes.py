"""Several processes on one folder, and processes that die in the middle."""

from __future__ import annotations

import os
import signal
import time

from toolchain_kit import SOURCE

from quadrants.toolchain.cache import DiskCache

BUILD = """
import ctypes, os, sys
from quadrants.toolchain import build
from quadrants.toolchain.cache import DiskCache
cache = DiskCache(sys.argv[1])
for i in range(int(sys.argv[2])):
    path = build.build_c(sys.argv[3] + "//" + str(i), "k", cache=cache)
    assert ctypes.CDLL(path).qd_answer(20) == 41 and path.startswith(sys.argv[1])
print(build.statistics.compiled, build.statistics.loaded)
"""


def finish(child):
    out, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (0, ""), err
    return [int(word) for word in out.split()]


def wait_for(path):
    for _ in range(1000):
        if os.path.exists(path) and open(path).read().strip():
            return open(path).read().strip()
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def test_a_process_killed_in_the_middle_of_a_compile(fake_cc, gcc, python, tmp_path):
    root, started, slow = (str(tmp_path / name) for name in ("cache", "started", "slow"))
    fake_cc(f'if [ -e {slow} ]; then echo $$ > {started}; sleep 60; fi; exec {gcc} "$@"')
    open(slow, "w").close()
    child = python(BUILD, root, "1", SOURCE)
    compiler = int(wait_for(started))
    child.send_signal(signal.SIGKILL)
    assert child.wait(timeout=10) == -signal.SIGKILL
    os.kill(compiler, signal.SIGKILL)
    os.unlink(slow)
    libraries = [name for _, _, names in os.walk(root) for name in names if not name.endswith(".cc")]
    assert libraries == []
    assert finish(python(BUILD, root, "1", SOURCE)) == [1, 0]
    assert finish(python(BUILD, root, "1", SOURCE)) == [0, 1]


def test_an_interrupt_stops_the_compiler_and_leaves_nothing(fake_cc, gcc, python, tmp_path):
    started = str(tmp_path / "started")
    fake_cc(f"echo $$ > {started}; sleep 60")
    (tmp_path / "private").mkdir()
    child = python(BUILD, str(tmp_path / "cache"), "1", SOURCE, QD_TMP_DIR=str(tmp_path / "private"))
    compiler = int(wait_for(started))
    time.sleep(0.3)  # until the child knows of it: see the known limits in docs/development/status.md
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=10)
    assert child.returncode != 0 and err.rstrip().endswith("KeyboardInterrupt")
    until = time.monotonic() + 10
    while not has_ended(compiler) and time.monotonic() < until:
        time.sleep(0.01)
    assert has_ended(compiler)
    assert os.listdir(tmp_path / "private") == []


def has_ended(pid: int) -> bool:
    """Also of a process that has, and that its parent, which may be the first one by now, has yet to notice."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_child_forked_while_another_thread_compiles(fake_cc, gcc, python, tmp_path):
    started = str(tmp_path / "started")
    fake_cc(f'echo $$ > {started}; sleep 0.5; exec {gcc} "$@"')
    code = f"""
import ctypes, os, sys, threading, time
from quadrants.toolchain import build
thread = threading.Thread(target=build.build_c, args=({SOURCE!r}, "k"))
thread.start()
while not os.path.exists({started!r}):
    time.sleep(0.01)
pid = os.fork()
if pid == 0:
    os._exit(0 if ctypes.CDLL(build.build_c({SOURCE!r}, "k")).qd_answer(20) == 41 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
thread.join()
"""
    out, err = python(code).communicate(timeout=60)
    assert out == "0\n" and "Error" not in err


def test_a_process_killed_after_its_first_kernel_has_published_it(python, tmp_path):
    root = str(tmp_path / "cache")
    child = python(BUILD + "\nsys.stdout.flush(); os.kill(os.getpid(), 9)", root, "1", SOURCE)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert finish(python(BUILD, root, "2", SOURCE)) == [1, 1]


def test_a_process_killed_in_the_middle_of_a_write(python, tmp_path):
    root = str(tmp_path / "cache")
    code = """
import os, sys
import quadrants.toolchain.cache as module
os.replace = lambda *paths, **folders: os.kill(os.getpid(), 9)
module.DiskCache(sys.argv[1]).put("ab" * 32, b"x" * 100)
"""
    assert python(code, root).wait(timeout=60) == -signal.SIGKILL
    cache = DiskCache(root)
    assert cache.get("ab" * 32) is None and cache.info().entries == 0
    assert cache.put("ab" * 32, b"y") and cache.get("ab" * 32) == b"y"
    cache.clear()
    assert os.listdir(root) == []


def test_processes_that_compile_the_same_kernels_at_once(python, tmp_path):
    root = str(tmp_path / "cache")
    counts = [finish(child) for child in [python(BUILD, root, "3", SOURCE) for _ in range(4)]]
    assert all(sum(count) == 3 for count in counts)
    libraries = [name for _, _, names in os.walk(root) for name in names if name.endswith(".so")]
    assert len(libraries) == 3  # beside what the compilers of the machine answered
    assert finish(python(BUILD, root, "3", SOURCE)) == [0, 3]


def test_one_cleans_and_clears_while_others_write(python, tmp_path):
    root = str(tmp_path / "cache")
    write = """
import os, sys, time
from quadrants.toolchain.cache import DiskCache, make_key
cache = DiskCache(sys.argv[1], 5000)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for i in range(20):
        key = make_key(str(i))
        assert cache.put(key, str(i).encode() * 500) is not None
        assert cache.get(key) in (None, str(i).encode() * 500)
    if sys.argv[2] == "clear": cache.clear()
    if sys.argv[2] == "clean": DiskCache(sys.argv[1], 5000).clean()
print(1)
"""
    children = [python(write, root, what) for what in ("write", "write", "clean", "clear")]
    for child in children:
        assert finish(child) == [1]
