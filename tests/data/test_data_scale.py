"""data.md 2.4, 5.1: a thousand field trees, 512 arguments, and no compilation that a new field would cause."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import quadrants as qd
from quadrants.toolchain import build

ROOT = Path(__file__).resolve().parents[2]
FIELDS, ARGUMENTS = 1024, 512


def load(path, text: str):
    """The module that such a file is."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trees(count: int, first: int = 0) -> list:
    """Fields of a few shapes and dtypes, each a tree of its own; element 0 of field k is k."""
    fields = []
    for k in range(first, first + count):
        field = qd.field((qd.i32, qd.f32, qd.i64)[k % 3], (k % 5 + 1, 2)[: k % 2 + 1])
        field[(0, 0)[: k % 2 + 1]] = k
        fields.append(field)
    return fields


def first_of(field):
    return field[(0, 0)[: len(field.shape)]]


def test_a_thousand_trees(arch):
    """Every one has its own memory and number, and a kernel reaches first and last."""
    fields = trees(FIELDS)
    assert [f.snode._snode_tree_id for f in fields] == list(range(FIELDS))
    first, last = fields[0], fields[-1]

    @qd.kernel
    def run():
        first[0] += 5
        last[0, 1] = first[0] + last[0, 0]

    run()
    assert [first_of(f) for f in fields[1:]] == list(range(1, FIELDS))
    assert first[0] == 5 and last[0, 1] == 5 + FIELDS - 1


def test_one_kernel_on_a_thousand_trees(arch, tmp_path):
    """More pointers than a device takes as arguments by value."""
    module = load(
        tmp_path / "all_fields.py",
        "import quadrants as qd\nfields = []\n@qd.kernel\ndef total() -> qd.i32:\n    s = 0\n"
        + "".join(f"    s += qd.i32(fields[{k}][{'0, 0' if k % 2 else '0'}])\n" for k in range(FIELDS))
        + "    return s\n",
    )
    module.fields.extend(trees(FIELDS))
    assert module.total() == sum(range(FIELDS))


ANNOTATIONS = {
    "ndarray": "qd.types.ndarray(dtype=qd.i32, ndim=1)",
    "tensor": "qd.Tensor",
    "view": "qd.BufferView[qd.i32]",
    "template": "qd.template()",
}


def argument(kind: str, k: int):
    if kind == "template":
        array = qd.field(qd.i32, 2)
    else:
        array = qd.ndarray(qd.i32, (2,))
    array[1] = k
    return array[1:] if kind == "view" else qd.wrap(array) if kind == "tensor" else array


@pytest.mark.parametrize("kind", ANNOTATIONS)
def test_512_arguments(arch, tmp_path, kind):
    """Read and written, by a second launch with the same code; arrays that trade places do not compile."""
    at = 0 if kind == "view" else 1
    module = load(
        tmp_path / f"many_{kind}.py",
        f"import quadrants as qd\n@qd.kernel\n"
        f"def many({', '.join(f'a{k}: {ANNOTATIONS[kind]}' for k in range(ARGUMENTS))}) -> qd.i32:\n    s = 0\n"
        + "".join(f"    s += {k + 1} * a{k}[{at}]\n" for k in range(ARGUMENTS))
        + f"    a{ARGUMENTS - 1}[{at}] = s\n    return s\n",
    )
    arguments = [argument(kind, k % 7) for k in range(ARGUMENTS)]
    want = sum((k + 1) * (k % 7) for k in range(ARGUMENTS))
    assert module.many(*arguments) == want
    last = arguments[-1]
    assert (last.arr[1] if kind == "view" else last[1]) == want
    swapped = [*arguments[-1:], *arguments[1:-1], arguments[0]]
    assert module.many(*swapped) == want - ARGUMENTS * ((ARGUMENTS - 1) % 7) + want
    assert len(module.many) == (2 if kind == "template" else 1)


def test_512_numbers_and_arrays_of_many_axes(arch, tmp_path):
    """512 pointers with 6 extents each, and 512 numbers: 18 KiB of arguments."""
    names = [f"a{k}: qd.types.ndarray(dtype=qd.i32, ndim=6), n{k}: qd.i32" for k in range(ARGUMENTS)]
    module = load(
        tmp_path / "large_block.py",
        f"import quadrants as qd\n@qd.kernel\ndef many({', '.join(names)}) -> qd.i32:\n    s = 0\n"
        + "".join(f"    s += n{k} * a{k}[0, 0, 0, 0, 0, a{k}.shape[5] - 1]\n" for k in range(ARGUMENTS))
        + "    return s\n",
    )
    array = qd.ndarray(qd.i32, (1, 1, 1, 1, 1, 3))
    array[0, 0, 0, 0, 0, 2] = 2
    assert module.many(*[x for k in range(ARGUMENTS) for x in (array, k)]) == ARGUMENTS * (ARGUMENTS - 1)


def test_new_fields_compile_nothing(arch):
    """Kernels on a field keep their code and their plans while others are declared, used, filled and destroyed."""
    field = qd.field(qd.i32, 3)

    @qd.kernel
    def by_name():
        for i in field:
            field[i] += 1

    @qd.kernel
    def by_argument(x: qd.template()):
        for i in x:
            x[i] += 10

    by_name(), by_argument(field)
    compiled, specialisations = build.statistics.compiled, qd.lang.impl.get_runtime().get_num_compiled_functions()
    for k in range(20):
        other = qd.field(qd.f32, (k + 1, 2))
        by_name(), by_argument(field)
        other.fill(k)
        vectors = qd.Vector.field(3, qd.f32, shape=k + 1, needs_grad=True)
        vectors[0] = [k, k, k]
        builder = qd.FieldsBuilder()
        builder.dense(qd.i, 4).place(qd.field(qd.i64))
        tree = builder.finalize()
        by_name(), by_argument(field)
        tree.destroy()
        by_name(), by_argument(field)
    assert field.to_numpy().tolist() == [61 * 11] * 3
    assert build.statistics.compiled == compiled
    assert qd.lang.impl.get_runtime().get_num_compiled_functions() == specialisations
    assert len(by_name) == len(by_argument) == 1


def test_fields_of_one_shape_share_their_code(arch):
    """A kernel of a template parameter has a plan for each field, and one binary for all that are alike."""

    @qd.kernel
    def run(x: qd.template()):
        for i in x:
            x[i] += 1

    alike = [qd.field(qd.i32, 5) for _ in range(8)]
    run(alike[0])
    compiled = build.statistics.compiled
    for field in alike:
        run(field)
    assert [f[4] for f in alike] == [2] + [1] * 7
    assert build.statistics.compiled == compiled and len(run) == 8


PROGRAM = """
import json, sys
import quadrants as qd
from quadrants.toolchain import build

before, after = int(sys.argv[1]), int(sys.argv[2])
qd.init(offline_cache=True)

def declare(count, touch):
    for k in range(count):
        f = qd.field(qd.f32, (k + 2, 3))
        if touch:
            f[0, 0] = 1

declare(before, before % 2)
x = qd.field(qd.i32, 7)
v = qd.Vector.field(2, qd.f32, shape=(2, 3))
declare(after, False)

@qd.kernel
def by_name():
    for i in x:
        x[i] += i

@qd.kernel(fastcache=True)
def by_argument(x: qd.template(), v: qd.template()):
    for i, j in v:
        v[i, j] += x[i] + qd.Vector([i, j])

by_name()
by_argument(x, v)
declare(after, True)
by_name()
by_argument(x, v)
print(json.dumps([build.statistics.compiled, x.to_numpy().tolist(), v.to_numpy().tolist()]))
"""


def test_other_processes_compile_nothing_for_more_fields(arch_environment, tmp_path):
    """The code of a kernel does not know which trees there are: what is on disk serves programs with more of them."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QD_") or k == "QD_CC"}
    environment |= {**arch_environment, "PYTHONPATH": str(ROOT), "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache")}

    def outcome(before: int, after: int) -> list:
        run = subprocess.run(
            [sys.executable, str(script), str(before), str(after)],
            capture_output=True, text=True, env=environment, timeout=300,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout.splitlines()[-1])

    compiled, x, v = outcome(0, 0)
    assert compiled == 2 and x == [2 * i for i in range(7)]
    for before, after in ((3, 0), (4, 2), (0, 5)):
        assert outcome(before, after) == [0, x, v]


@pytest.mark.slow
@pytest.mark.parametrize("layout", [None, (1, 0)], ids=["rows", "columns"])
@pytest.mark.filterwarnings("ignore:Ndarray index might be out of int32")
def test_more_elements_than_an_i32_counts(arch, layout):
    """Each axis is short enough for i32 indices; what lies behind 2^31 elements is reached all the same."""
    n = 2**30 + 50
    x = (
        qd.ndarray(qd.i8, (2, n))
        if layout is None
        else qd.tensor(qd.i8, (2, n), layout=layout, backend=qd.Backend.NDARRAY)
    )

    @qd.kernel
    def write(x: qd.types.ndarray(dtype=qd.i8, ndim=2), rows: qd.i32):
        for i, j in qd.ndrange(rows, 10):
            x[i, n - 10 + j] = 10 * i + j
        x[0, 0] = -1

    @qd.kernel
    def read(x: qd.types.ndarray(dtype=qd.i8, ndim=2), rows: qd.i32) -> qd.i32:
        s = 0
        for i, j in qd.ndrange(rows, 20):
            s += x[i, n - 20 + j]
        return s + 1000 * x[0, 0]

    write(x, 2)
    assert read(x, 2) == sum(range(20)) - 1000
    assert (x[1, n - 1], x[0, n - 1], x[1, 0], x[0, 1], x[0, 0]) == (19, 9, 0, 0, -1)
