"""What is emitted: look-ups that are shared, and loops that know their container."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


def world():
    qd.init(arch=qd.cpu)
    x, y = qd.field(qd.f32), qd.Vector.field(2, qd.f32)
    node = qd.root.pointer(qd.ij, 16)
    node.dense(qd.ij, 8).place(x, y)
    return x, y


def task_of(text: str, kind: str) -> str:
    return text[text.index(f"_{kind}(qd_runtime") :]


def test_a_loop_over_a_field_looks_nothing_up():
    x, y = world()

    @qd.kernel
    def own():
        for i, j in x:
            y[i, j] += x[i, j]

    text = own.source()
    assert "qd_find" not in text and "qd_activate" not in text and "atomic" not in task_of(text, "struct_for")


def test_writes_to_one_cell_activate_it_once():
    x, y = world()

    @qd.kernel
    def scatter(n: qd.i32):
        for p in range(n):
            cell = qd.Vector([p * 7 % 128, p * 3 % 128])
            x[cell] += 1.0
            y[cell] += qd.Vector([1.0, 2.0])
            if p > 3:
                x[cell] += 2.0

    assert scatter.source(3).count(": qd_activate") == 1


def test_one_sum_of_indices_is_one_cell():
    x, y = world()

    @qd.kernel
    def scatter(n: qd.i32):
        for p in range(n):
            base = qd.Vector([p * 7, p * 3]) % 100
            for d in qd.static(qd.grouped(qd.ndrange(3, 3))):
                x[base + d] += 1.0
                y[base + d] += qd.Vector([1.0, 2.0])

    assert scatter.source(3).count(": qd_activate") == 9
    scatter(50)
    expected = np.zeros((128, 128))
    for p in range(50):
        expected[p * 7 % 100 :, p * 3 % 100 :][:3, :3] += 1
    assert (x.to_numpy() == expected).all() and (y.to_numpy()[..., 1] == 2 * expected).all()


def test_a_number_and_its_bits_are_two_cells():
    x, _ = world()

    @qd.kernel
    def write(f: qd.f32, g: qd.f32):
        for _ in range(1):
            x[qd.cast(f, qd.i32), 0] = 1.0
            x[qd.bit_cast(f, qd.i32), 0] = 2.0
            x[qd.bit_cast(g, qd.i32) & 64, 5] = 3.0

    write(*np.array([70, 0], dtype=np.int32).view(np.float32))
    found = x.to_numpy()
    assert (found[0, 0], found[70, 0], found[0, 5], found.sum()) == (1, 2, 3, 6)


def test_a_changed_index_is_another_cell():
    x, y = world()

    @qd.kernel
    def walk(n: qd.i32):
        for p in range(n):
            i = p
            x[i, 3] = 1.0
            i += 64
            x[i, 3] = 2.0

    assert walk.source(3).count(": qd_activate") == 2
    walk(60)
    assert x.to_numpy()[:64, 3].sum() == 60 and x.to_numpy()[64:, 3].sum() == 120


def test_dense_fields_know_nothing_of_it():
    qd.init(arch=qd.cpu)
    x = qd.field(qd.f32, (8, 8))

    @qd.kernel
    def own():
        for i, j in x:
            x[i, j] += 1.0

    text = own.source()
    assert "container" not in text and "pool" not in text


NODES = {
    "pointer": lambda: qd.root.pointer(qd.i, 64).pointer(qd.i, 64),
    "bitmasked": lambda: qd.root.pointer(qd.i, 64).bitmasked(qd.i, 64),
    "dynamic": lambda: qd.root.dynamic(qd.i, 4096, chunk_size=64),
}


@pytest.mark.parametrize("kind", NODES)
def test_loops_that_make_cells_active_run_on_all_threads(kind):
    """What a first write costs, each of the later ones does not; it is no scatter with atomics."""
    qd.init(arch=qd.cpu, cpu_max_num_threads=16)
    x = qd.field(qd.f32)
    NODES[kind]().place(x)

    @qd.kernel
    def write():
        for i in range(4096):
            x[i] = 1.0

    text = write.source()
    assert "qd_activate" in text and "rt->parallel(" in text
    write()
    assert x.to_numpy().sum() == 4096


def test_appends_to_one_list_run_on_one_thread():
    """Each waits for the length that the one before it has written, whoever does it."""
    qd.init(arch=qd.cpu, cpu_max_num_threads=16)
    x = qd.field(qd.i32)
    node = qd.root.dynamic(qd.i, 4096, chunk_size=64)
    node.place(x)

    @qd.kernel
    def fill():
        for i in range(4096):
            qd.append(node, [], i)

    assert "rt->parallel(" not in fill.source()
    fill()
    assert sorted(x.to_numpy()) == list(range(4096))
