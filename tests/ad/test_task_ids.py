"""Ids of tasks: the same in every process, of the same content, and never of two tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import quadrants as qd
from quadrants.ir.task_ids import fnv1a, specialisation, task_id, task_ids
from quadrants.runtime import task_table
from quadrants.toolchain.cache import DiskCache

PROGRAM = """
import quadrants as qd
from quadrants.runtime import task_table

@qd.kernel(fastcache=True)
def count(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] += 1
    for i in range(x.shape[0]):
        x[i] *= 2

qd.init(arch=qd.cpu)
x = qd.ndarray(qd.i32, (3,))
count(x)
print(sorted((i, task_table.name_of(i)) for i, t in task_table._tasks.items() if t[1] == "count"))
"""


@pytest.mark.cpu_only
def test_the_hash_is_fnv1a():
    # Vectors of the authors of FNV.
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8


@pytest.mark.cpu_only
def test_an_id_is_made_of_name_and_number():
    h = fnv1a(b"k:" + bytes([3, 0, 0, 0, 0, 0, 0, 0]))
    assert task_id("k", 3) == (h ^ h >> 32) & 0xFFFFFFFF
    assert len({task_id("k", n) for n in range(1000)}) == 1000
    assert task_ids("k", "text", 3) == task_ids("k", "text", 3)
    assert not set(task_ids("k", "text", 3)) & set(task_ids("k", "other text", 3))
    assert specialisation("k", "text").startswith("k.")


@pytest.mark.cpu_only
def test_no_task_has_the_id_zero(monkeypatch):
    monkeypatch.setattr("quadrants.ir.task_ids.fnv1a", lambda data: 0x1234567812345678)
    assert task_id("k", 0) == 1


@pytest.mark.cpu_only
def test_collisions_give_two_ids(monkeypatch):
    monkeypatch.setattr(task_table, "_tasks", {})
    last = 0xFFFFFFFF
    assert task_table.register("first", (7, last)) == (7, last)
    assert task_table.register("second", (7, last)) == (8, 1)
    # The same kernel again keeps what it has, whichever came first.
    assert task_table.register("second", (7, last)) == (8, 1)
    assert task_table.register("first", (7, last)) == (7, last)
    assert [task_table.name_of(k) for k in (7, 8, last, 1)] == ["first_0", "second_0", "first_1", "second_1"]
    with pytest.raises(KeyError):
        task_table.name_of(99)


@pytest.mark.cpu_only
def test_two_processes_agree_also_from_the_cache(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    outputs = []
    for cache in ("a", "a", "b"):
        run = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=120,
            env={**os.environ, "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / cache)},
        )  # fmt: skip
        outputs.append([line for line in run.stdout.splitlines() if line.startswith("[(")])
    assert outputs[0] == outputs[1] == outputs[2]
    assert "count_0" in outputs[0][0] and "count_1" in outputs[0][0]
    kept = [json.loads(part) for part in _entries(tmp_path / "a")]
    (recipe,) = [entry["recipe"] for entry in kept if entry["recipe"]["name"] == "count"]
    assert [f"({k}, 'count_{n}')" in outputs[0][0] for n, k in enumerate(recipe["task_ids"])] == [True, True]


def _entries(folder) -> list:
    found = []
    for file in folder.rglob("*.kernel"):
        version = file.parent.parent
        kept = DiskCache(str(version.parent), 1 << 30, "never", 0.5, version=version.name)
        found.append(kept.get(file.parent.name + file.stem, ".kernel"))
    return found


def test_specialisations_have_ids_of_their_own(init):
    init()
    known = set(task_table._tasks)

    @qd.kernel
    def ids_of_two_types(x: qd.types.ndarray(ndim=1)):
        for i in range(x.shape[0]):
            x[i] += 1

    ids_of_two_types(qd.ndarray(qd.i32, (3,)))
    ids_of_two_types(qd.ndarray(qd.f32, (3,)))
    new = [task_table.name_of(k) for k in task_table._tasks if k not in known]
    assert new == ["ids_of_two_types_0"] * 2


def test_dumps_show_them(init, monkeypatch, capfd):
    monkeypatch.setenv("QD_DUMP_SRC", "1")
    init()

    @qd.kernel
    def shown(x: qd.types.ndarray(qd.i32, 1)):
        for i in range(x.shape[0]):
            x[i] += 1

    shown(qd.ndarray(qd.i32, (3,)))
    text = capfd.readouterr().err
    (known,) = [k for k, task in task_table._tasks.items() if task[1] == "shown" and f"{k:#010x}" in text]
    assert task_table.name_of(known) == "shown_0"
