"""How much memory there is, and what happens where it ends."""

import gc
import os
import threading

import numpy as np
import pytest
from sparse_kit import count

import quadrants as qd
from quadrants._ext.core import live_buffers
from quadrants.data.sparse import pools
from quadrants.errors import QuadrantsRuntimeError


def field_of(cells: int, block: int = 4):
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.i, cells)
    node.dense(qd.i, block).place(x)
    qd.sync()
    return x, node


def limit_pools(monkeypatch, containers: int, stride: int = 16, rank: int = 1) -> None:
    """Pools with room for so many containers."""
    nbytes = containers * (stride + 4 * (5 + rank))
    monkeypatch.setattr(pools, "addresses", lambda: nbytes)
    monkeypatch.setattr(pools, "_begin_on_device", lambda most: nbytes)


def test_no_memory_is_an_error_and_nothing_is_lost(sparse, monkeypatch):
    limit_pools(monkeypatch, 10)
    monkeypatch.setattr(pools, "_grow", lambda pool, capacity: None)
    x, node = field_of(1000)

    @qd.kernel
    def write(begin: qd.i32, end: qd.i32):
        for i in range(begin, end):
            x[4 * i + 1] = i + 1

    write(0, 8)
    before = x.to_numpy()
    with pytest.raises(QuadrantsRuntimeError, match="Out of memory: the node field_pointer has 10 active cells"):
        write(100, 500)
        qd.sync()
    after = x.to_numpy()
    assert (after[:32] == before[:32]).all() and count(node) == 10
    with pytest.raises(QuadrantsRuntimeError, match="Out of memory"):
        x[4 * 900] = 1
    node.deactivate_all()
    write(200, 210)
    assert count(node) == 10 and x.to_numpy().sum() == sum(range(201, 211))


def test_pools_of_devices_grow_between_launches(sparse, monkeypatch):
    limit_pools(monkeypatch, 8)
    x, node = field_of(4000)
    if not pools.memory.on_device():
        pytest.skip("pools of the host have addresses for all of its memory: run it with a GPU, or QD_EMULATE=1")
    total = qd.field(qd.i32, ())

    @qd.kernel
    def write(begin: qd.i32, end: qd.i32):
        for i in range(begin, end):
            x[4 * i + 1] = i + 1

    @qd.kernel
    def add():
        for i in x:
            total[None] += x[i]

    begin, size = 0, 4
    while begin < 3000:
        write(begin, begin + size)
        begin += size
        size = max(4, begin // 2)
        total[None] = 0
        add()  # compiled once: it finds the memory where it is now
        assert total[None] == begin * (begin + 1) // 2 and count(node) == begin
    assert (x.to_numpy()[1 : 4 * begin : 4] == np.arange(1, begin + 1)).all()


def test_a_list_has_room_for_all_its_entries_at_once(sparse):
    """More than what large pools begin with: a launch cannot ask for more while it runs."""
    many = 4_300_000  # of 16 bytes
    x = qd.Vector.field(4, qd.i32)
    qd.root.dynamic(qd.i, many, chunk_size=4096).place(x)

    @qd.kernel
    def fill():
        for i in range(many):
            x[i][0] = i

    @qd.kernel
    def last() -> qd.i32:
        return x[many - 1][0]

    fill()
    assert last() == many - 1


def test_few_cells_of_many_are_cheap(sparse):
    x = qd.field(qd.f32)
    node = qd.root.pointer(qd.ijk, 128)
    node.dense(qd.ijk, 8).place(x)  # 2^30 cells

    @qd.kernel
    def write():
        for i, j, k in qd.ndrange(40, 40, 40):
            x[i * 13, j * 7, k * 3] = 1.0

    @qd.kernel
    def total() -> qd.f32:
        s = 0.0
        for i, j, k in x:
            s += x[i, j, k]
        return s

    if pools.memory.on_device():
        pytest.skip("the emulator takes minutes for the loop: run it with arch=cpu")
    write()
    assert total() == 64000.0
    active = node._num_dynamically_allocated
    assert active <= 40 * 35 * 16 and count(node) == active


def test_report(sparse, capsys):
    x, node = field_of(8)
    x[5] = x[30] = 1
    capsys.readouterr()
    qd.profiler.print_memory_profiler_info()
    told = capsys.readouterr().out
    assert "[Memory Profiler]" in told and "pointer [8]: 2 active of 2 containers with memory, 16 B each, 32 B" in told


def test_memory_goes_with_the_tree(sparse):
    gc.collect()
    before = live_buffers()
    x = qd.field(qd.i32)
    builder = qd.FieldsBuilder()
    builder.pointer(qd.i, 8).dynamic(qd.j, 4).place(x)
    tree = builder.finalize()
    x[3, 2] = 1
    count(x)
    assert live_buffers() > before
    tree.destroy()
    gc.collect()
    assert live_buffers() <= before


def test_indices_outside_read_zero_and_write_nothing(sparse):
    x, node = field_of(5, 3)

    @qd.kernel
    def around() -> qd.i32:
        for i in range(-40, 60):
            x[i] = 1
        total = 0
        for i in range(-400, 400):
            total += x[i]
        return total

    assert around() == 15 and count(x) == 15 and x.to_numpy().sum() == 15


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory of the process")
def test_cycles_of_activation_do_not_grow_memory(sparse, arch_name):
    x = qd.field(qd.f32)
    blocks = qd.root.pointer(qd.ij, 64)
    blocks.dense(qd.ij, 8).place(x)

    @qd.kernel
    def activate(k: qd.i32):
        for i in range(256):
            x[(i * 7 + k) % 512, (i * 13) % 512] += 1.0

    @qd.kernel
    def deactivate():
        for i, j in blocks:
            qd.deactivate(blocks, [i, j])

    def cycles(count: int) -> int:
        for k in range(count):
            activate(k)
            deactivate()
        qd.sync()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = cycles(100)
    assert cycles(10_000 if arch_name == "cpu" else 200) - before < 2 << 20
    assert blocks._num_dynamically_allocated == 0


def test_threads_of_the_host_that_want_one_cell(sparse):
    x = qd.field(qd.f32)
    blocks = qd.root.pointer(qd.ij, 64)
    blocks.dense(qd.ij, 8).place(x)

    @qd.kernel
    def add():
        for _ in range(100):
            x[100, 100] += 1.0

    threads = [threading.Thread(target=lambda: [add() for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blocks._num_dynamically_allocated == 1 and x[100, 100] == 4 * 20 * 100
