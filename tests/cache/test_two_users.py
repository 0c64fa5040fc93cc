"""Two users without privileges share folders: neither runs the other's code nor loses files.

Attacker and victim are in one group. Each part of a test is a process that imports all it needs, then becomes a user.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cache_kit import ROOT

ATTACKER, VICTIM, GROUP = 23456, 34567, 45678

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.cpu_only,
    pytest.mark.skipif(
        not hasattr(os, "setresuid") or os.geteuid() != 0, reason="needs root on Linux, to become two other users"
    ),
]

# All is imported, and every table of the process is empty again, when `become` returns.
PRELUDE = """
import concurrent.futures, ctypes, hashlib, json, marshal, os, pathlib, pickle, re, shlex, shutil, signal, stat
import subprocess, sys, traceback
import quadrants as qd
from quadrants import dumps
from quadrants.emit import bytecode, environment
from quadrants.toolchain import artifact, build, cc, compiler, kept_sources, process, progress, scratch
from quadrants.toolchain.cache import DiskCache, make_key

here = os.path.dirname(os.path.abspath(__file__))
ATTACKER, VICTIM, GROUP = 23456, 34567, 45678

@qd.kernel
def twice(a: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    for i in a:
        a[i] = i * 2
    return n + n

def compute(**options):
    qd.init(arch=qd.cpu, log_level="warn", template_path=here + "/templates", **options)
    a = qd.ndarray(qd.i32, 4)
    assert twice(a, 21) == 42 and a.to_numpy().tolist() == [0, 2, 4, 6], "a wrong result"
    qd.reset()

def start_anew():
    build.forget()
    compiler._found.clear()
    compiler._kept.clear()
    compiler.own_store.cache_clear()
    environment._environment.cache_clear()
    scratch._folders.clear()

def become(user):
    before = dict(os.environ)
    os.environ.update(QD_TMP_DIR=here + "/first", XDG_CACHE_HOME=here + "/first")
    compute(offline_cache=False)
    os.environ.clear()
    os.environ.update(before)
    start_anew()
    os.setgroups([GROUP])
    os.setresgid(GROUP, GROUP, GROUP)
    os.setresuid(user, user, user)
"""


class Stage:
    """A folder that everybody can enter, with a program in it for each part."""

    def __init__(self, base: Path):
        self.base = base
        (base / "first").mkdir(mode=0o700)
        (base / "templates" / "c").mkdir(parents=True, mode=0o755)
        (base / "templates" / "c" / "task.c.j2").write_text('{% extends "builtin/c/task.c.j2" %}')
        (base / "templates" / "c" / "task.c.j2").chmod(0o644)

    def folder(self, name: str, owner: int, mode: int) -> Path:
        path = self.base / name
        path.mkdir()
        os.chown(path, owner, GROUP)
        path.chmod(mode)
        return path

    def run(self, user: int, text: str, **env: str) -> tuple[str, str]:
        """What the program prints to its two streams when the user runs it in the folder."""
        program = self.base / "program.py"
        program.write_text(PRELUDE + f"\nbecome({user})\n" + text)
        program.chmod(0o644)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("QD_", "XDG_")) or k == "QD_CC"}
        inherited = {k: v for k, v in inherited.items() if k not in ("HOME", "TMPDIR")}
        more = {"PYTHONPATH": str(ROOT), "ENABLE_QUADRANTS_HEADER_PRINT": "0", "QD_WARM_COMPILER": "0", **env}
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, env={**inherited, **more}, cwd=self.base
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, re.sub(r"\[Quadrants\] Starting on arch=\w+\n", "", done.stderr)


@pytest.fixture
def stage():
    base = Path(tempfile.mkdtemp(prefix="qd-users-", dir="/tmp"))
    base.chmod(0o755)
    yield Stage(base)
    shutil.rmtree(base)


def warnings(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("[W")]


# What the attacker does to a cache that he filled: everything says that it ran.
PLANT = """
mark = here + "/shared/marked"
trojan = compile(f"open({mark!r}, 'a').close()", "trojan", "exec")
for folder, _, files in os.walk(root):
    for name in files:
        path = os.path.join(folder, name)
        if name.endswith(".jinja"):
            key = os.path.basename(folder) + name[:62]
            pathlib.Path(path).write_bytes(artifact.seal(key, marshal.dumps(trojan)))
        os.chmod(path, 0o644)
    os.chmod(folder, 0o777)
"""


@pytest.mark.parametrize("named", [True, False], ids=["a named folder", "XDG_CACHE_HOME"])
def test_code_in_a_shared_folder_does_not_run(stage, named):
    shared = stage.folder("shared", 0, 0o777)
    env = {"QD_OFFLINE_CACHE_FILE_PATH": str(shared / "c")} if named else {"XDG_CACHE_HOME": str(shared)}
    root = shared / "c" if named else shared / "quadrants"
    stage.run(ATTACKER, f"compute()\nroot = {str(root)!r}\n{PLANT}", **env)
    planted = [path for path in root.rglob("*.jinja")]
    assert planted and all(path.stat().st_uid == ATTACKER for path in planted)
    _, err = stage.run(VICTIM, "compute()", **env)
    assert not (shared / "marked").exists()
    assert len(warnings(err)) == 1 and "belongs to another user" in err and "Traceback" not in err
    # The attacker's own process believes them: what was planted would have run.
    with pytest.raises(AssertionError):
        stage.run(ATTACKER, f"os.system('chmod -R go-w {root}')\ncompute()", **env)
    assert (shared / "marked").exists()


def test_code_of_another_user_in_ones_own_folder_does_not_run(stage):
    """Folders that were open once hold what others left there."""
    shared = stage.folder("shared", 0, 0o777)
    env = {"QD_OFFLINE_CACHE_FILE_PATH": str(shared / "c")}
    stage.run(VICTIM, f"compute()\nos.system('chmod -R a+rwX {shared}/c')", **env)
    steal = """
for folder, _, files in os.walk(root):
    for name in files:
        path = os.path.join(folder, name)
        content = pathlib.Path(path).read_bytes()
        os.unlink(path)
        pathlib.Path(path).write_bytes(content)
"""
    stage.run(ATTACKER, f"root = {str(shared / 'c')!r}\n{steal}{PLANT.replace('os.chmod(folder, 0o777)', '')}")
    assert all(path.stat().st_uid == ATTACKER for path in (shared / "c").rglob("*.jinja"))
    count = "before = build.statistics.loaded\ncompute()\nprint(build.statistics.loaded - before)"
    out, err = stage.run(VICTIM, f"os.system('chmod go-w {shared}/c {shared}/c/* {shared}/c/*/*')\n{count}", **env)
    assert not (shared / "marked").exists() and out.split() == ["0"] and err == ""
    out, err = stage.run(VICTIM, count, **env)
    assert out.split() == ["1"] and err == ""


@pytest.mark.parametrize("level", ["", "*", "*/*"], ids=["root", "version", "shelf"])
def test_an_object_that_the_group_replaced_is_not_computed_with(stage, level):
    cache = stage.folder("cache", VICTIM, 0o700)
    env = {"QD_OFFLINE_CACHE_FILE_PATH": str(cache)}
    stage.run(VICTIM, "compute()", **env)
    opened = [cache] if not level else [p for p in cache.glob(level) if p.is_dir()]
    for folder in {cache, *cache.glob("*"), *cache.glob("*/*")}:
        if folder.is_dir():
            folder.chmod(0o770 if folder in opened else 0o750)
    replace = f"""
for path in pathlib.Path({str(cache)!r}).rglob("*.o"):
    key = path.parent.name + path.name[:62]
    evil = cc.compile_object("int x;", name="evil")
    try:
        os.rename(path, str(path) + "ld")
        path.write_bytes(artifact.seal(key, evil))
        print("replaced")
    except PermissionError:
        print("kept-out")
"""
    out, _ = stage.run(ATTACKER, replace)
    assert set(out.split()) == {"replaced" if level == "*/*" else "kept-out"}
    _, err = stage.run(VICTIM, "compute()", **env)
    assert len(warnings(err)) == 1 and "chmod go-w" in err and "cannot be used" in err


def test_a_shared_object_is_not_loaded_by_a_path_that_others_can_turn(stage):
    parent = stage.folder("parent", ATTACKER, 0o777)
    root = stage.folder("parent/cache", VICTIM, 0o700)
    load = f"""
path = build.build_c("int qd_answer(int x) {{ return 2 * x + 1; }}", "k", cache=DiskCache({str(root)!r}))
assert ctypes.CDLL(path).qd_answer(20) == 41
print(path)
"""
    for _ in range(2):
        out, err = stage.run(VICTIM, load)
        assert not out.startswith(str(root)) and err == ""
    assert list(root.rglob("*.so"))
    parent.chmod(0o755)
    os.chown(parent, 0, 0)
    assert stage.run(VICTIM, load)[0].startswith(str(root))


def test_without_a_home_there_is_no_cache(stage):
    """A user whom the system does not know, in a folder that he can write."""
    area = stage.folder("area", VICTIM, 0o700)
    for env in ({}, {"HOME": ""}, {"HOME": "relative"}):
        _, err = stage.run(VICTIM, f"os.chdir({str(area)!r})\ncompute()\ncompute()", **env)
        assert os.listdir(area) == [] and len(set(warnings(err))) <= 2 and "no home folder is known" in err
    _, err = stage.run(VICTIM, f"os.chdir({str(area)!r})\ncompute(offline_cache=False)")
    assert os.listdir(area) == [] and err == ""
    _, err = stage.run(VICTIM, f"os.chdir({str(area)!r})\ncompute()", QD_OFFLINE_CACHE_FILE_PATH="~/cache")
    assert os.listdir(area) == [] and "no home folder is known" in err


def test_a_cache_that_is_off_writes_nothing(stage):
    home = stage.folder("home", VICTIM, 0o700)
    stage.run(VICTIM, "compute(offline_cache=False)", HOME=str(home))
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in kept if path.suffix != ".cc"] == []  # what the compiler says of itself


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077, 0o377, 0o777], ids=oct)
def test_modes_of_one_without_privileges(stage, umask):
    stage.folder("area", VICTIM, 0o700)
    write = f"""
os.umask({umask})
root = here + "/area/a/b/cache"
for cache in (DiskCache(root), DiskCache(root)):
    assert cache.get("0" * 64) in (None, b"payload")
    assert cache.put("0" * 64, b"payload") and cache.get("0" * 64) == b"payload"
    assert cache.keep_failed("text", "kernel", ".c")
"""
    _, err = stage.run(VICTIM, write)
    assert err == ""
    made = list((stage.base / "area").rglob("*"))
    assert len(made) == 8
    for path in made:
        assert stat.S_IMODE(path.lstat().st_mode) == (0o600 if path.is_file() else 0o700), path


# ---- files of users stay


def test_scratch_folders_of_others_and_links_are_left_alone(stage):
    tmp = stage.folder("tmp", 0, 0o1777)
    mine = stage.folder("mine", VICTIM, 0o700)
    for folder in (mine, mine / "quadrants-1-0123456789ab"):
        folder.mkdir(exist_ok=True)
        for name in ("in-use", "thesis"):
            (folder / name).write_text("mine")
            os.chown(folder / name, VICTIM, VICTIM)
        os.chown(folder, VICTIM, VICTIM)
    attack = f"""
os.chdir({str(tmp)!r})
os.symlink({str(mine)!r}, "quadrants-2-0123456789ab")
os.mkdir("quadrants-3-0123456789ab", 0o777)
os.chmod("quadrants-3-0123456789ab", 0o777)
os.symlink({str(mine / "in-use")!r}, "quadrants-3-0123456789ab/in-use")
"""
    stage.run(ATTACKER, attack)
    own = """
for name in ("quadrants-results", "quadrants-1-notes", "quadrants-7-0123456789ab"):
    os.mkdir(f"{here}/tmp/{name}", 0o700)
    for file in ("in-use", "data"):
        pathlib.Path(here, "tmp", name, file).touch()
build.build_c("int x;", "k")
"""
    stage.run(VICTIM, own, QD_TMP_DIR=str(tmp))
    assert (mine / "thesis").exists() and (mine / "quadrants-1-0123456789ab" / "thesis").exists()
    left = sorted(path.name for path in tmp.iterdir())
    # The last of them has the name of ours, and the lock that nobody holds.
    assert left == ["quadrants-1-notes", "quadrants-2-0123456789ab", "quadrants-3-0123456789ab", "quadrants-results"]
    assert (tmp / "quadrants-results" / "data").exists()


FAIL = """
for i in range(30):
    try:
        build.build_c(f"#error {i}", "broken")
    except build.CompileError as error:
        print(error.source_path)
"""


def test_failed_sources_go_to_a_private_folder_and_are_few(stage):
    tmp = stage.folder("tmp", 0, 0o1777)
    (tmp / "quadrants-failed-notes.c").write_text("mine")
    out, err = stage.run(VICTIM, FAIL, QD_TMP_DIR=str(tmp))
    folder = tmp / f"quadrants-failed-{VICTIM}"
    assert {os.path.dirname(path) for path in out.split()} == {str(folder)} and err == ""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and len(list(folder.iterdir())) == 20
    assert out.split()[-1] in map(str, folder.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert (tmp / "quadrants-failed-notes.c").exists()


def test_failed_sources_do_not_go_where_another_user_waits_for_them(stage):
    tmp, home = stage.folder("tmp", 0, 0o1777), stage.folder("home", VICTIM, 0o700)
    trap = tmp / f"quadrants-failed-{VICTIM}"
    stage.run(ATTACKER, f"os.mkdir('{trap}'); os.chmod('{trap}', 0o777)")
    out, _ = stage.run(VICTIM, FAIL.replace("30", "1"), QD_TMP_DIR=str(tmp), HOME=str(home))
    assert out and not out.startswith(str(tmp)) and list(trap.iterdir()) == []
    shutil.rmtree(os.path.dirname(out.strip()))


def test_dumps_do_not_go_where_another_user_waits_for_them(stage):
    shared, mine = stage.folder("shared", 0, 0o1777), stage.folder("mine", VICTIM, 0o700)
    (mine / "thesis").write_text("mine")
    os.chown(mine / "thesis", VICTIM, VICTIM)
    links = f"os.symlink({str(mine / 'thesis')!r}, '{shared}/ir/twice_c0_' + str(i) + '_trace.ir')"
    stage.run(ATTACKER, f"os.mkdir('{shared}/ir'); os.chmod('{shared}/ir', 0o777)\nfor i in range(9): {links}")
    env = {"QD_DUMP_IR": "1"}
    _, err = stage.run(VICTIM, f"compute(offline_cache=False, debug_dump_path='{shared}/ir')", **env)
    assert (mine / "thesis").read_text() == "mine" and len(list((shared / "ir").iterdir())) == 9
    assert len(warnings(err)) == 1 and "belongs to another user" in err and "debug_dump_path" in err
    stage.run(VICTIM, f"compute(offline_cache=False, debug_dump_path='{shared}/mine')", **env)
    made = list((shared / "mine").iterdir())
    assert made and {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert stat.S_IMODE((shared / "mine").stat().st_mode) == 0o700
