"""One folder and several processes, which compile, clean, clear, and meet damage."""

from __future__ import annotations

import fnmatch

import pytest
from cache_kit import finish

from quadrants.emit import commands
from quadrants.toolchain.cache import DiskCache

WORK = """
import sys, time
import quadrants as qd
from quadrants.toolchain import build

folder, limit, templates = sys.argv[1], int(sys.argv[2]), sys.argv[3]
options = dict(offline_cache_file_path=folder, offline_cache_max_size_of_files=limit, log_level="warn")
options.update(template_path=templates, enable_fallback=False)

@qd.kernel(fastcache=True)
def one(a: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    for i in a:
        a[i] += n
    return n + 1

@qd.kernel
def two(a: qd.types.ndarray(), k: qd.template()):
    for i in a:
        a[i] += k

for turn in range(6):
    qd.init(**options)  # ends the runtime before, which cleans
    build.forget()
    a = qd.ndarray(qd.i32, 4)
    assert one(a, turn) == turn + 1
    for k in range(3):
        two(a, k)
    assert a.to_numpy().tolist() == [turn + 3] * 4
print("right")
"""

CLEAR = """
import sys, time
from quadrants.toolchain.cache import DiskCache
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    cache = DiskCache(sys.argv[1], 3000)
    cache.clean()
    cache.clear()
    time.sleep(0.002)
print("right")
"""


@pytest.fixture
def templates(tmp_path):
    """A template of the user's, which is kept in the cache too."""
    (tmp_path / "mine").mkdir()
    for name in fnmatch.filter(commands.names(), "[!_]*/task.*.j2"):
        (tmp_path / "mine" / name).parent.mkdir(parents=True)
        (tmp_path / "mine" / name).write_text('{% extends "builtin/' + name + '" %}')
    return tmp_path / "mine"


def test_kernels_while_others_clean_and_clear(python, cache, templates):
    clearing = [python(CLEAR, cache.root, "8")]
    working = [python(WORK, cache.root, limit, templates) for limit in (1 << 20, 3000, 0)]
    for child in (*working, *clearing):
        out, err = finish(child)
        assert out.splitlines()[-1] == "right"
        assert [line for line in err.splitlines() if "Failed to read from cache" not in line and line.strip()] == []
    assert DiskCache(str(cache.root)).clear() >= 0
    assert list(cache.root.rglob("*")) == []


def test_damage_in_any_bit_of_any_file(python, cache, templates):
    """Each run meets one wrong bit in every file; it computes what is right, and mends them."""
    run = lambda: finish(python(WORK.replace("range(6)", "range(1)"), cache.root, 1 << 30, templates))  # noqa: E731
    run()
    files = {path: path.read_bytes() for path in cache.files()}
    kinds = {path.suffix for path in files}
    # What is compiled is C for the CPU and for emulated devices, a binary or text for others.
    assert kinds >= {".jinja", ".kernel"} and kinds & {".cc", ".cubin", ".hsaco", ".clbin", ".msl", ".spv"}
    for place in (0.0, 0.3, 0.6, 0.99):
        for path, content in files.items():
            at = int(place * len(content) * 8)
            damaged = bytearray(content)
            damaged[at // 8] ^= 1 << at % 8
            path.write_bytes(damaged)
        out, err = run()
        assert out.splitlines()[-1] == "right" and "Traceback" not in err
        assert [
            path for path, content in files.items() if path.suffix == ".jinja" and path.read_bytes() != content
        ] == []
    assert run()[1] == ""
