"""Quantised fields with what else kernels have: caches, graphs, checkpoints, debug mode, structs of fields, dumps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import pytest

import quadrants as qd

q = qd.types.quant


def packed(*types, bits=32, shape=8):
    fields = [qd.field(t) for t in types]
    word = qd.BitpackedFields(max_num_bits=bits)
    word.place(*fields)
    qd.root.dense(qd.i, shape).place(word)
    return fields


def test_indices_are_checked_in_debug_mode(init):
    init(debug=True)
    x, y = packed(q.int(5), q.fixed(8))
    v = qd.field(q.int(4))
    qd.root.dense(qd.i, 2).quant_array(qd.i, 8, 32).place(v)

    @qd.kernel
    def store(i: qd.i32):
        x[i] = 3

    @qd.kernel
    def add(i: qd.i32):
        for _ in range(1):
            v[i] += 3

    @qd.kernel
    def load(i: qd.i32) -> qd.f32:
        return y[i]

    store(7)
    add(15)
    assert (x[7], v[15], load(7)) == (3, 3, 0.0)
    for kernel, i in ((store, 8), (store, -1), (add, 16), (load, 9)):
        with pytest.raises(qd.QuadrantsAssertionError, match="Accessing field .* with indices") as e:
            kernel(i)
        assert "test_quant_modes.py" in str(e.value)


def test_overflow_of_the_computing_type_is_told_in_debug_mode(init, capfd):
    init(debug=True)
    x, _ = packed(q.int(31), q.int(1))
    x[0] = 2**30 - 1

    @qd.kernel
    def add():
        for _ in range(1):
            x[0] += 2**31 - 1

    add()
    qd.sync()
    assert "overflow" in capfd.readouterr().out.lower()


def test_graphs(arch):
    x, y = packed(q.int(13), q.int(19, False))

    @qd.kernel(graph=True)
    def steps(n: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(n):
            for i in x:
                x[i] += i
            for i in range(8):
                y[(i + 3) % 8] += x[i]
            n[()] -= 1

    n = qd.ndarray(qd.i32, ())
    for turn in range(2):
        n[()] = 5
        steps(n)
        total = 5 * (turn + 1)
        assert [x[i] for i in range(8)] == [total * i for i in range(8)]
    assert [y[(i + 3) % 8] for i in range(8)] == [55 * i for i in range(8)]


def test_checkpoints(arch):
    x, _ = packed(q.int(20), q.int(5))

    @qd.kernel(graph=True, checkpoints=True)
    def steps(stop: qd.types.ndarray(qd.i32, ndim=0)):
        for i in x:
            x[i] += 1
        with qd.checkpoint(1, yield_on=stop):
            for i in range(8):
                x[(i + 1) % 8] += 10
        for i in x:
            x[i] += 100

    stop = qd.ndarray(qd.i32, ())
    stop[()] = 1
    status = steps(stop)
    assert status.yielded and [x[i] for i in range(8)] == [11] * 8
    stop[()] = 0
    assert not steps.resume(stop, from_checkpoint=1).yielded
    assert [x[i] for i in range(8)] == [121] * 8


def test_structs_of_fields(arch):
    @qd.data_oriented
    class Model:
        def __init__(self):
            self.x, self.y = packed(q.int(13), q.fixed(16))

        @qd.kernel
        def step(self, n: qd.i32):
            for i in self.x:
                self.x[i] += n
                self.y[i] += 0.125

    one, two = Model(), Model()
    one.step(2)
    two.step(3)
    one.step(4)
    assert (one.x[3], one.y[3], two.x[3], two.y[3]) == (6, 0.25, 3, 0.125)


def test_the_text_is_what_it_says(arch):
    x, y = packed(q.int(13), q.fixed(16))

    @qd.kernel
    def step():
        for i in x:
            x[i] = i
            y[(i + 1) % 8] = 0.5

    texts = [step.source(arch=name) for name in ("cpu", "cuda", "amdgpu", "metal", "opencl", "vulkan")]
    for text in texts:
        body = text[text.index("step_0") :]
        assert "8191" in body and re.search("cas|compswap|cmpxchg|compare_exchange", body, re.IGNORECASE)


PROGRAM = """
    import sys
    import quadrants as qd
    from quadrants.toolchain import build
    qd.init(arch=qd.cpu, log_level=qd.ERROR)
    q = qd.types.quant
    a, b = (int(n) for n in sys.argv[1:])
    x, y = qd.field(q.int(a)), qd.field(q.int(b))
    word = qd.BitpackedFields(32)
    word.place(x, y)
    qd.root.dense(qd.i, 4).place(word)

    @qd.kernel
    def step():
        for i in x:
            x[i] = 2 ** (i + 3) - 1
            y[i] = -i

    step()
    print([x[i] for i in range(4)], [y[i] for i in range(4)], build.statistics.compiled)
"""


@pytest.mark.cpu_only
def test_the_disk_cache_tells_packings_apart(tmp_path):
    program = tmp_path / "packed_program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    environment = {**os.environ, "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache")}

    def run(*bits):
        command = [sys.executable, str(program), *map(str, bits)]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return found.stdout.splitlines()[-1]

    wide, narrow = "[7, 15, 31, 63] [0, -1, -2, -3]", "[-1, -1, -1, -1] [0, -1, -2, -3]"
    assert run(13, 19) == f"{wide} 1" and run(3, 19) == f"{narrow} 1"
    assert run(13, 19) == f"{wide} 0" and run(3, 19) == f"{narrow} 0"


def test_a_kernel_with_fastcache_says_no_to_fields_and_runs(arch):
    x, _ = packed(q.int(13), q.int(5))

    @qd.kernel(fastcache=True)
    def step(n: qd.i32, field: qd.template()):
        for i in field:
            field[i] = n * i

    step(5, x)
    assert [x[i] for i in range(8)] == [5 * i for i in range(8)]


def test_extensions_tell_the_truth(arch):
    for name in ("quant", "quant_basic"):
        assert qd.is_extension_enabled(getattr(qd.extension, name))
        assert qd.lang.misc.is_extension_supported(qd.cfg.arch, getattr(qd.extension, name))
