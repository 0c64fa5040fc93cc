"""The compiler that waits: used when it fits, never missed when it is gone, never left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
import threading
import time

import pytest
from toolchain_kit import SOURCE, answer

from quadrants.toolchain import build, cc, elf, loader, scratch, warm
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.errors import CompileError, CompileTimeout

pytestmark = [
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="a second core is needed"
    ),
    pytest.mark.skipif(not loader.available(), reason="objects are loaded on x86-64 Linux only; libraries do not wait"),
]


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    warm.drop()
    monkeypatch.setattr(warm, "IDLE_SECONDS", 60.0)
    yield
    warm.drop()


@pytest.fixture
def fake_gcc(fake_cc):
    """A compiler script that counts as gcc itself; `fake_gcc(shell_text)`."""
    return lambda body: fake_cc(body, name="fake-gcc")


def pid():
    return warm._waiting.child._process.pid


def members(group):
    """The processes of a session, zombies aside."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, _, _, session = file.read().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(session) == group and state != "Z":
            found.append(int(name))
    return found


def gone(group):
    for _ in range(200):
        if not members(group):
            return True
        time.sleep(0.02)
    return False


def ready():
    """Start one and wait until the compiler proper waits for its text."""
    cc.prepare(cc.find_compiler())
    for _ in range(500):
        if len(members(pid())) == 3:
            return pid()
        time.sleep(0.01)
    raise AssertionError("gcc did not start its children")


def compiled(text=SOURCE, **options):
    return answer(loader.load(cc.compile_object(text, name="k", options=CcOptions(**options))))(20)


def test_the_one_that_waits_gets_the_text_and_the_next_one_starts(gcc):
    first = ready()
    assert compiled() == 41
    assert warm._waiting is not None and pid() != first and gone(first)


def test_both_ways_make_the_same_code(gcc):
    text = """
    extern double sin(double);
    double f(double *x, int n) { double s = 0; for (int i = 0; i < n; ++i) s += sin(x[i]); return s; }
    """
    ready()
    waited = cc.compile_object(text, name="k")
    warm.drop()
    at_once = cc.compile_object(text, name="k")
    code = [
        {s.name: bytes(s.data) for s in elf.parse(binary).sections.values() if s.size} for binary in (waited, at_once)
    ]
    assert code[0] == code[1]


def test_other_options_or_another_environment_are_not_served(gcc, monkeypatch):
    first = ready()
    assert compiled(opt_level=1) == 41
    assert gone(first)
    first = pid()
    monkeypatch.setenv("CPATH", "/nowhere")
    assert compiled(opt_level=1) == 41
    assert gone(first)


@pytest.mark.parametrize("whom", ["driver", "compiler", "all"])
def test_one_that_was_killed_while_it_waited(gcc, whom):
    group = ready()
    others = [member for member in members(group) if member != group]
    for victim in {"driver": [group], "compiler": others, "all": [*others, group]}[whom]:
        with contextlib.suppress(ProcessLookupError):  # the others end on their own when one is gone
            os.kill(victim, signal.SIGKILL)
    time.sleep(0.05)
    assert compiled() == 41


def test_one_whose_files_went_away(gcc):
    ready()
    scratch.remove(warm._waiting.main)
    folder = os.path.dirname(warm._waiting.output)
    os.rename(folder, folder + "-moved")
    try:
        assert compiled() == 41
    finally:
        os.rename(folder + "-moved", folder + "-left")
        shutil.rmtree(folder + "-left")


def test_a_compiler_replaced_by_another_does_not_get_to_work(fake_gcc, gcc):
    from quadrants.toolchain import compiler

    fake_gcc(f'exec {gcc} "$@"')
    cc.prepare(cc.find_compiler())
    old = pid()
    fake_gcc(f'exec {gcc} -DREPLACED "$@"')
    compiler._found.clear()
    text = "#ifdef REPLACED\nint qd_answer(int x) { return 1; }\n#else\n" + SOURCE + "#endif\n"
    assert compiled(text) == 1
    assert gone(old)


def test_an_error_in_the_text_is_told_as_ever(gcc):
    ready()
    with pytest.raises(CompileError, match=r"<stdin>:2:.*'oops' undeclared"):
        cc.compile_object("int f(void) {\n  return oops;\n}\n", name="k")


def test_a_wrapper_that_eats_the_text_is_found_out(fake_gcc, gcc):
    fake_gcc(f'case "$*" in */dev/stdin*) cat > /dev/null; exec {gcc} "$@" < /dev/null;; *) exec {gcc} "$@";; esac')
    cc.prepare(cc.find_compiler())
    assert compiled() == 41


def test_a_time_limit_stops_it_with_its_children(fake_gcc, monkeypatch):
    fake_gcc("sleep 300 & wait")
    cc.prepare(cc.find_compiler())
    group = pid()
    monkeypatch.setenv("QD_CC_TIMEOUT", "0.5")
    with pytest.raises(CompileTimeout):
        cc.compile_object(SOURCE, name="k")
    assert gone(group)


def test_a_text_longer_than_a_pipe(gcc):
    ready()
    assert compiled("/* " + "x" * 300_000 + " */\n" + SOURCE) == 41


def test_many_threads_at_once(gcc):
    ready()
    results = []

    def work(i):
        for k in range(3):
            text = f"int qd_answer(int x) {{ return x + {i * 10 + k}; }}"
            results.append((answer(build.load_c(text, "k"))(0), i * 10 + k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 15 and all(got == want for got, want in results)


def test_it_is_stopped_when_idle_and_leaves_no_file(gcc, monkeypatch):
    monkeypatch.setattr(warm, "IDLE_SECONDS", 0.3)
    warm.drop()
    group = ready()
    files = warm._waiting.main, warm._waiting.output
    assert gone(group)
    with warm._lock:  # held until its files are gone, too
        assert warm._waiting is None
    assert not any(map(os.path.exists, files))
    assert compiled() == 41


@pytest.mark.parametrize("command, wanted", [(("/usr/bin/ccache", "gcc"), False), (("/bin/sh",), False)])
def test_wrappers_do_not_wait(command, wanted):
    assert warm.wanted(command) is wanted


def test_it_can_be_turned_off(gcc, monkeypatch):
    monkeypatch.setenv("QD_WARM_COMPILER", "0")
    cc.prepare(cc.find_compiler())
    assert warm._waiting is None and compiled() == 41 and warm._waiting is None


START = """
import os, signal, sys, time
from quadrants.toolchain import build, cc, warm
cc.prepare(cc.find_compiler())
group = warm._waiting.child._process.pid
print(group, flush=True)
"""


@pytest.mark.parametrize("end", ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)", "raise SystemExit(1)", "1 / 0"])
def test_no_process_and_no_file_outlives_ours(gcc, python, tmp_path, end):
    child = python(START + end, QD_TMP_DIR=str(tmp_path), QD_CC=gcc)
    out, _ = child.communicate(timeout=60)
    assert gone(int(out))
    if end in ("pass", "raise SystemExit(1)", "1 / 0"):
        assert os.listdir(tmp_path) == []


def test_ctrl_c_is_not_for_it_and_the_next_compile_works(gcc, python):
    code = (
        START
        + """
try:
    time.sleep(60)
except KeyboardInterrupt:
    pass
library = build.load_c("int f(void) { return 7; }", "k")
print("done" if warm._waiting is not None else "none")
"""
    )
    child = python(code, QD_CC=gcc)
    group = int(child.stdout.readline())
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (out, err) == ("done\n", "") and gone(group)


def test_a_forked_child_neither_uses_it_nor_keeps_it_alive(gcc, python):
    code = (
        START
        + """
import ctypes
pid = os.fork()
if pid == 0:
    library = build.load_c("int f(void) { return 7; }", "k")
    ok = ctypes.CFUNCTYPE(ctypes.c_int)(library.address("f"))() == 7
    sys.stdout.write("child %d\\n" % ok); sys.stdout.flush()
    os.close(1); os.close(2)
    time.sleep(20)
    os._exit(0)
while True:
    time.sleep(0.05)
    if warm._waiting is None or os.path.exists(sys.argv[1]):
        break
library = build.load_c("int f(void) { return 8; }", "k")
print("parent", ctypes.CFUNCTYPE(ctypes.c_int)(library.address("f"))(), flush=True)
os.kill(pid, 9); os.waitpid(pid, 0)
"""
    )
    with tempfile.TemporaryDirectory() as folder:
        flag = os.path.join(folder, "go")
        child = python(code, flag, QD_CC=gcc)
        group = int(child.stdout.readline())
        assert child.stdout.readline() == "child 1\n"
        open(flag, "w").close()
        out, err = child.communicate(timeout=30)
    assert (out, err) == ("parent 8\n", "") and gone(group)


def test_the_loaded_code_is_of_this_text(gcc):
    ready()
    for i in range(4):
        library = build.load_c(f"int f(void) {{ return {i}; }}", "k")
        assert ctypes.CFUNCTYPE(ctypes.c_int)(library.address("f"))() == i
