"""Arrays of other packages as arguments: only memory that is there, that may be written, and that holds the numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import quadrants as qd

VEC = qd.types.vector(2, qd.f32)


@qd.kernel
def double(a: qd.types.ndarray()):
    for i in range(a.shape[0]):
        a[i] = a[i] * 2


@qd.kernel
def add(a: qd.types.ndarray(), b: qd.types.ndarray()):
    for i in range(a.shape[0]):
        a[i] += b[i]


@qd.kernel
def total(a: qd.types.ndarray()) -> qd.f64:
    s = qd.f64(0.0)
    for i in range(a.shape[0]):
        s += a[i]
    return s


@qd.kernel
def swap_first(a: qd.types.ndarray(dtype=VEC, ndim=1)):
    a[0] = a[0].yx


@qd.kernel
def first_of_vectors(a: qd.types.ndarray(dtype=VEC, ndim=1)) -> VEC:
    return a[0]


@qd.kernel
def diagonal(a: qd.types.ndarray(ndim=2), b: qd.types.ndarray(ndim=2)):
    for i in range(a.shape[0]):
        a[i, i] = b[i, i]


@dataclasses.dataclass
class Arrays:
    source: qd.types.ndarray(dtype=qd.f32, ndim=1)
    target: qd.types.ndarray(dtype=qd.f32, ndim=1)


@qd.kernel
def copy_members(arrays: Arrays):
    for i in range(4):
        arrays.target[i] = arrays.source[i]


def fixed(values, dtype=np.float32):
    out = np.array(values, dtype)
    out.flags.writeable = False
    return out


# ---------------------------------------------------------------- read-only


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.bool_])
def test_read_only_arrays_are_not_written(arch, dtype):
    a, b = fixed([0, 1, 1, 0], dtype), np.ones(4, dtype)
    for launch in (lambda: double(a), lambda: add(a, b), lambda: add(a, a)):
        with pytest.raises(ValueError, match="Argument a is read-only, and the kernel writes to it"):
            launch()
    assert a.tolist() == [0, 1, 1, 0]
    add(b, a)
    assert b.astype(int).tolist() == ([1, 0, 0, 1] if dtype is np.bool_ else [1, 2, 2, 1])
    b.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add(b, a)


def test_read_only_arrays_are_read(arch):
    assert total(fixed([1, 2, 3])) == 6
    assert total(np.frombuffer(np.arange(4.0).tobytes())) == 6
    assert first_of_vectors(fixed([[1, 2], [3, 4]])).to_list() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        swap_first(fixed([[1, 2], [3, 4]]))


def test_read_only_members_of_dataclasses(arch):
    source, target = fixed([1, 2, 3, 4]), np.zeros(4, np.float32)
    copy_members(Arrays(source, target))
    assert target.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        copy_members(Arrays(target, source))


def test_memory_maps_of_files(arch, tmp_path):
    """Writing to a map that is only for reading ends the process: it has to be refused."""
    path = tmp_path / "values"
    np.arange(4, dtype=np.float32).tofile(path)
    kept = np.memmap(path, np.float32, "r", shape=(4,))
    assert total(kept) == 6
    with pytest.raises(ValueError, match="read-only"):
        double(kept)
    shared = np.memmap(path, np.float32, "r+", shape=(4,))
    double(shared)
    shared.flush()
    assert np.fromfile(path, np.float32).tolist() == [0, 2, 4, 6]


def test_read_only_maps_in_fortran_order(arch, tmp_path):
    """They are copied for the launch; nothing is copied back to what is only read."""
    path = tmp_path / "values"
    np.arange(9, dtype=np.float32).tofile(path)
    kept = np.memmap(path, np.float32, "r", shape=(3, 3), order="F")
    target = np.zeros((3, 3), np.float32)
    diagonal(target, kept)
    assert np.diag(target).tolist() == [0, 4, 8]
    with pytest.raises(ValueError, match="read-only"):
        diagonal(kept, target)
    other = np.asfortranarray(target)
    diagonal(other, other * 2)
    assert np.diag(other).tolist() == [0, 8, 16]


def test_one_array_read_and_written(arch):
    """Of an array in Fortran order each argument is a copy: the one that was only read does not undo the other."""
    a = np.asfortranarray(np.eye(3, dtype=np.float32))
    diagonal(a, np.full((3, 3), 5, np.float32))

    @qd.kernel
    def twice(a: qd.types.ndarray(ndim=2), b: qd.types.ndarray(ndim=2)):
        for i in range(3):
            a[i, i] = 2 * b[i, i]

    twice(a, a)
    assert np.diag(a).tolist() == [10, 10, 10]


# ---------------------------------------------------------------- classes that describe themselves otherwise


class Liar(np.ndarray):
    """Says that it has more and other memory than it has."""

    @property
    def __array_interface__(self):
        return {"data": (0xDEAD0000, False), "shape": (1 << 20,), "typestr": "<f4", "version": 3}

    @property
    def shape(self):
        return (1 << 20, 4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("writeable", [True, False])
def test_subclasses_cannot_say_where_their_memory_is(arch, order, writeable):
    a = np.array([[1, 2], [3, 4]], np.float32, order=order).view(Liar)
    a.flags.writeable = writeable

    @qd.kernel
    def look(a: qd.types.ndarray(ndim=2)) -> qd.types.vector(3, qd.f32):
        return qd.Vector([qd.f32(a.shape[0]), qd.f32(a.shape[1]), a[1, 0]])

    @qd.kernel
    def look_at_vectors(a: qd.types.ndarray(dtype=VEC, ndim=1)) -> qd.types.vector(2, qd.f32):
        return qd.Vector([qd.f32(a.shape[0]), a[1][0]])

    assert look(a).to_list() == [2, 2, 3]
    if order == "C":
        assert look_at_vectors(a).to_list() == [2, 3]
    if writeable:
        diagonal(a, np.full((2, 2), 9, np.float32))
        assert np.asarray(a).tolist() == [[9, 2], [3, 9]]


class OnAnotherDevice:
    """Looks like an array of CuPy: an interface, and a way to the host and back."""

    def __init__(self, values, given=None, read_only=False):
        self.values = np.array(values, np.float32)
        self.given = self.values if given is None else given
        self.dtype, self.ndim, self.shape = self.values.dtype, self.values.ndim, self.values.shape
        self.__read_only = read_only

    @property
    def __cuda_array_interface__(self):
        data = (self.values.ctypes.data, self.__read_only)
        return {"data": data, "shape": self.shape, "typestr": self.dtype.str, "version": 3, "strides": None}

    def get(self):
        return self.given

    def set(self, values):
        self.values = np.array(values)


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    "given", [np.zeros(1, np.float32), np.zeros(4, np.float64), np.zeros((2, 2), np.float32), np.float32(0)]
)
def test_copies_on_the_host_must_be_what_they_were_said_to_be(init, given):
    init()
    with pytest.raises(TypeError, match="get.. of a .*OnAnotherDevice gave"):
        total(OnAnotherDevice([1, 2, 3, 4], given))


@pytest.mark.cpu_only
def test_copies_on_the_host(init):
    init()
    a = OnAnotherDevice([1, 2, 3, 4])
    assert total(a) == 10
    double(a)
    assert a.values.tolist() == [2, 4, 6, 8]
    assert total(OnAnotherDevice([1, 2], fixed([1, 2]), read_only=True)) == 3
    with pytest.raises(ValueError, match="read-only"):
        double(OnAnotherDevice([1, 2], read_only=True))


# ---------------------------------------------------------------- negative views of torch


def negative_views(torch):
    one = torch.complex(torch.zeros(1), torch.tensor([-3.0])).conj().imag
    return [(torch._neg_view(torch.arange(4.0)), [0.0, -1.0, -2.0, -3.0]), (one, [3.0])]


def test_negative_views_are_read_as_they_are(arch):
    torch = pytest.importorskip("torch", reason="needs the package torch")
    for view, values in negative_views(torch):
        assert view.is_neg() and view.is_contiguous()
        assert total(view) == sum(values)
        assert total(torch.zeros(4)) == 0
        double(view)
        assert view.tolist() == [2 * x for x in values]


def test_a_negative_view_in_the_place_of_another_tensor(arch):
    """What was found of one tensor does not hold for the next one, wherever Python puts it."""
    torch = pytest.importorskip("torch", reason="needs the package torch")
    memory = torch.arange(4.0)
    for _ in range(50):
        assert total(memory.view(-1)) == 6
        assert total(torch._neg_view(memory)) == -6
    assert total(memory) == 6
    other = torch.ones(4)
    assert total(other) == 4
    other.data = torch._neg_view(memory)
    assert total(other) == -6


def test_conjugate_views_are_refused(arch):
    torch = pytest.importorskip("torch", reason="needs the package torch")
    with pytest.raises(TypeError, match="complex64"):
        total(torch.ones(2, dtype=torch.complex64).conj())
