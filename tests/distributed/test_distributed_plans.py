"""Cuts of grids, boxes, launchers and the life of plans: what needs no second rank."""

from __future__ import annotations

import gc
import itertools
import math
import os
import weakref

import numpy as np
import pytest

import quadrants as qd
from quadrants import distributed as qdist
from quadrants import launched
from quadrants.config import hardware_threads
from quadrants.distributed import decomposition, engines, rows
from quadrants.distributed.blocks import Blocks
from quadrants.distributed.engines.interface import Asked
from quadrants.launched import Launch

pytestmark = pytest.mark.cpu_only
CLOSED = (False, False, False)


@pytest.fixture
def world():
    yield qdist.init(arch=qd.cpu)
    qd.reset()


@pytest.mark.parametrize(
    ("shape", "ranks", "dims"),
    [((64, 64), 4, (2, 2)), ((1000, 10), 4, (4, 1)), ((10, 1000), 4, (1, 4)), ((64, 64), 2, (2, 1)),
     ((9, 9, 9), 8, (2, 2, 2)), ((8, 64, 64), 4, (1, 2, 2)), ((7,), 3, (3,)), ((64, 65), 2, (1, 2))],
)  # fmt: skip
def test_blocks_have_the_least_surface(shape, ranks, dims):
    halo = ((1, 1),) * len(shape)
    assert decomposition.least_surface(shape, ranks, halo, CLOSED[: len(shape)]) == dims


def test_slabs_are_cut_while_they_are_thick():
    halo = ((1, 1),) * 3
    assert decomposition.least_surface((512, 256, 256), 4, halo, CLOSED, slabs=True) == (4, 1, 1)
    assert decomposition.least_surface((64, 256, 256), 4, halo, CLOSED, slabs=True) == (1, 2, 2)
    assert decomposition.check_dims((0, 1, 1), (512, 256, 256), 4, halo, CLOSED) == (4, 1, 1)


def test_blocks_cover_the_grid_and_differ_by_one_cell():
    for shape, dims in (((13, 7), (4, 2)), ((5,), (5,)), ((6, 9, 4), (2, 3, 1))):
        halo = ((1, 2),) * len(shape)
        all_blocks = [Blocks(shape, dims, halo, CLOSED[: len(shape)], rank) for rank in range(math.prod(dims))]
        cells = [
            cell for b in all_blocks for cell in itertools.product(*(range(x, x + n) for x, n in zip(b.begin, b.size)))
        ]
        assert sorted(cells) == list(itertools.product(*map(range, shape)))
        for axis in range(len(shape)):
            sizes = {b.size[axis] for b in all_blocks}
            assert max(sizes) - min(sizes) <= 1
        assert [b.rank_at(b.place) for b in all_blocks] == [*range(len(all_blocks))]


def test_the_least_surface_is_never_more_than_that_of_any_other_cut():
    halo = ((1, 1),) * 3
    for shape, ranks in (((30, 20, 10), 12), ((17, 40, 23), 6), ((8, 8, 64), 16)):
        found = decomposition.least_surface(shape, ranks, halo, CLOSED)

        def surface(dims, shape=shape):
            return sum(math.prod(shape) / n * (d - 1) for n, d in zip(shape, dims))

        others = [d for d in decomposition.factorisations(ranks, 3) if all(n // k for n, k in zip(shape, d))]
        assert surface(found) == pytest.approx(min(map(surface, others)))


def test_boxes_leave_closed_faces_out(world):
    grid = qdist.Grid((8, 9), halo=((1, 2), (0, 1)), periodic=(False, True))
    assert grid.local == (11, 10) and grid.origin == (-1, 0)
    assert grid.box() == (2, 7, 0, 9) and grid.box(closed=True) == (1, 9, 0, 9)
    assert grid.box(offset=True) == (1, 6, 0, 9) and grid.box(inner=1) == (3, 6, 1, 8)
    assert grid.box(inner=9)[0] == grid.box(inner=9)[1]


def test_shells_are_what_boxes_leave_out(world):
    rng = np.random.default_rng(1)
    for _ in range(200):
        ndim = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 9, ndim))
        grid = qdist.Grid(shape, halo=1, periodic=tuple(bool(p) for p in rng.integers(0, 2, ndim)))
        for inner, closed in ((0, False), (1, False), (1, True), (3, True)):
            counted = np.zeros(grid.local, int)
            for box in [grid.box(inner, closed), *(shell := grid.shell(inner, closed))]:
                counted[tuple(slice(*span) for span in zip(box[::2], box[1::2]))] += 1
            wanted = np.zeros(grid.local, int)
            box = grid.box(closed=closed)
            wanted[tuple(slice(*span) for span in zip(box[::2], box[1::2]))] = 1
            assert np.array_equal(counted, wanted) and len(shell) <= 2 * ndim, (grid, inner, closed)
    offset = qdist.Grid((6,), halo=1)
    assert offset.shell(1, closed=True, offset=True) == [(0, 1), (5, 6)]


def test_plans_do_not_keep_arrays(world):
    grid = qdist.Grid((8, 8), periodic=True)
    u, v = grid.ndarray(qd.f32), grid.ndarray(qd.f32)
    grid.exchange_halo(u, v)
    grid.exchange_halo(v)
    dead = weakref.ref(u)
    del u
    gc.collect()
    assert dead() is None and len(grid._exchanges._plans) == 1
    grid.exchange_halo(v)


def test_exchanges_that_move_nothing_look_at_what_they_get(world):
    """On a grid without neighbours; the second time arrays are known."""
    grid = qdist.Grid((6, 5), halo=1)
    u, f, other = grid.ndarray(qd.f32), grid.field(qd.f32), qd.ndarray(qd.f32, (3, 3))
    for _ in range(2):
        for axes in (None, 0, (0, 1), [1]):
            assert grid.exchange_halo(u, axes=axes) is grid.exchange_halo(f, u, axes=axes, corners=False) is None
            assert grid.accumulate_halo(f, axes=axes) is None
        for call in (grid.exchange_halo, grid.accumulate_halo, grid.exchange_halo.grad):
            assert call() is None
        for wrong in (lambda: grid.exchange_halo(other), lambda u=u: grid.accumulate_halo(u, u)):
            with pytest.raises(ValueError, match="is not of grid|given twice"):
                wrong()
        with pytest.raises(ValueError, match="axes=2"):
            grid.exchange_halo(u, axes=2)
        faces = []
        grid.exchange_halo(u, boundary=lambda u, axis, high, *box: faces.append((axis, high)))
        assert faces == [(0, 0), (0, 1), (1, 0), (1, 1)]
        waiting = grid.exchange_halo(u, wait=False)
        with pytest.raises(qd.QuadrantsRuntimeError, match="under way"):
            grid.exchange_halo(u)
        waiting.wait()
    dead = weakref.ref(u)
    del u, waiting, wrong
    gc.collect()
    assert dead() is None
    kept = grid.ndarray(qd.f32)
    grid.exchange_halo(kept)
    qd.reset()
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsRuntimeError):
        grid.exchange_halo(kept)


def test_a_tape_has_exchanges_that_move_nothing(world):
    grid = qdist.Grid((4,), halo=1)
    u, loss = grid.ndarray(qd.f32, needs_grad=True), qd.ndarray(qd.f32, (), needs_grad=True)

    @qd.kernel
    def add(u: qd.types.ndarray(), loss: qd.types.ndarray()):
        for i in u:
            loss[()] += (1.0 + i) * u[i]

    for _ in range(2):
        u.grad.fill(0)
        with qd.ad.Tape(loss):
            grid.exchange_halo(u)
            grid.accumulate_halo(u)
            add(u, loss)
        assert u.grad.to_numpy().tolist() == [1, 2, 3, 4, 5, 6]


def test_integers_that_wrap_are_not_reported(capfd):
    """Packed cells, as of structs, are added by a kernel."""
    qdist.init(arch=qd.cpu, debug=True)
    grid = qdist.Grid((6,), periodic=True)
    s = grid.field(qd.types.struct(a=qd.i32, b=qd.types.vector(2, qd.i64)))
    s.a.fill(2**31 - 1)
    s.b.fill(2**63 - 1)
    grid.accumulate_halo(s)
    assert s.a[1] == -2 and s.b[6][1] == -2
    qd.reset()
    said = "".join(capfd.readouterr())
    assert "overflow" not in said, said


class Device(np.ndarray):
    """Takes numbers where their alignment allows it only, as devices do."""

    def __setitem__(self, where, values):
        assert np.asarray(values).flags.aligned
        super().__setitem__(where, values)


@pytest.mark.parametrize("count", [1, 2])
def test_numbers_are_read_from_rows_where_they_may_lie(count):
    sent = [np.arange(count, dtype=np.int32), np.arange(2.0 * count).reshape(count, 2), np.ones(count, np.float16)]
    bytes_ = [values.view(np.uint8).reshape(count, -1) for values in sent]
    found = [np.zeros((3, *values.shape[1:]), values.dtype).view(Device) for values in sent]
    rows.put(found, 1, np.concatenate(bytes_, axis=1))
    for values, array in zip(sent, found):
        assert np.array_equal(array[1 : 1 + count], values) and not array[0].any() and not array[1 + count :].any()


def test_tensors_are_exchanged_as_what_is_in_them(world):
    grid = qdist.Grid((4,), periodic=True)
    for t in (qd.tensor(qd.f32, grid.local), qd.wrap(grid.ndarray(qd.f32))):
        t.from_numpy(__import__("numpy").array([-1.0, 1, 2, 3, 4, -1]))
        grid.exchange_halo(t)
        assert t.to_numpy().tolist() == [4, 1, 2, 3, 4, 1]


def test_sparse_fields_are_refused(world):
    grid = qdist.Grid((8,), periodic=True)
    x = qd.field(qd.f32)
    qd.root.pointer(qd.i, grid.local).place(x)
    with pytest.raises(qd.QuadrantsRuntimeError, match="quantised or sparse.*Copy it to a dense field"):
        grid.exchange_halo(x)


LAUNCHES = [
    ({}, None, "single"),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
     Launch("mpiexec", 1, 4, 1, None), "mpi4py"),
    ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"},
     Launch("mpiexec", 0, 2, 0, 2), "mpi4py"),
    ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Launch("mpiexec", 0, 1, None, None), "single"),
    ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"}, Launch("srun", 3, 8, 1, None), "mpi4py"),
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None, "single"),  # a batch script
    ({"PMIX_RANK": "2"}, Launch("mpiexec", 2, None, None, None), "mpi4py"),
    ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}, Launch("torchrun", 1, 2, 1, None), "torch"),
    ({"RANK": "1"}, None, "single"),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "launch", "engine"), LAUNCHES)
def test_launchers_are_known_by_their_variables(monkeypatch, variables, launch, engine):
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMI", "SLURM_", "MPI_LOCAL")) or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched.found() == launch and engines.chosen(launch) == engine
    assert launched.is_first() == (launch is None or launch.rank == 0)


@pytest.mark.parametrize(
    ("variables", "options", "threads"),
    [({"OMP_NUM_THREADS": "1"}, {}, 1), ({"OMP_NUM_THREADS": "1"}, {"cpu_max_num_threads": 3}, 3),
     ({"OMP_NUM_THREADS": "1", "QD_NUM_THREADS": "2"}, {}, 2), ({"OMP_NUM_THREADS": "1000"}, {}, None), ({}, {}, None)],
)  # fmt: skip
def test_one_rank_has_the_threads_that_it_is_given(monkeypatch, variables, options, threads):
    for name in ("OMP_NUM_THREADS", "QD_NUM_THREADS", "QD_CPU_MAX_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    qdist.init(arch=qd.cpu, **options)
    assert qd.cfg.cpu_max_num_threads == (threads or hardware_threads())
    qd.reset()


def test_engines_are_registered_and_found_by_name():
    with pytest.raises(ValueError, match=r"engine='mpi4p' is not known.*did you mean 'mpi4py'"):
        engines.start("mpi4p", Asked(None, 1.0))
    asked = []
    qdist.register_engine("of a test", lambda given: asked.append(given) or engines.start("single", given))
    assert engines.start("of a test", Asked(None, 2.0)).size == 1 and asked[0].timeout == 2.0
