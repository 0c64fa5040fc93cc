"""Stores of zarr: what several ranks wrote is one array to anybody, and other ranks read it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from on_ranks import main, patient_barrier, solo

import quadrants as qd
from quadrants import distributed as qdist

SHAPES = ((11, 7), (5, 13), (8, 8), (23,), (5,), (9, 5, 4))  # on 4 ranks, 5 cells are 3 chunks


def arrays_of(grid) -> dict:
    struct = qd.types.struct(a=qd.f64, b=qd.types.vector(2, qd.i16))
    return {
        "u": grid.field(qd.f32),
        "v": grid.ndarray(qd.types.matrix(2, 3, qd.f64)),
        "s": struct.field(shape=grid.local),
        "m": grid.field(qd.u8),
    }


def fill(grid, arrays, seed: int) -> dict:
    """Set all of them; returns the whole arrays by the names in the store."""
    rng, shape = np.random.default_rng(seed), grid.shape
    wholes = {
        "u": rng.normal(size=shape).astype(np.float32),
        "v": rng.normal(size=(*shape, 2, 3)),
        "s.a": rng.normal(size=shape),
        "s.b": rng.integers(-9, 9, (*shape, 2)).astype(np.int16),
        "m": rng.integers(0, 255, shape).astype(np.uint8),
    }
    for name in "uvm":
        grid.scatter(wholes[name], arrays[name])
    grid.scatter({"a": wholes["s.a"], "b": wholes["s.b"]}, arrays["s"])
    return wholes


def gathered(grid, arrays) -> dict:
    found = {name: grid.gather(array) for name, array in arrays.items()}
    struct = found.pop("s")
    return {} if struct is None else found | {"s.a": struct["a"], "s.b": struct["b"]}


def assert_equal(found, wholes):
    for name, values in found.items():
        assert np.array_equal(values, wholes[name]) and values.dtype == wholes[name].dtype, name


def test_zarr_itself_reads_what_ranks_wrote(world):
    import zarr

    for number, shape in enumerate(SHAPES):
        grid = qdist.Grid(shape, halo=tuple((k % 2, 1) for k in range(len(shape))))
        arrays = arrays_of(grid)
        wholes = fill(grid, arrays, number)
        path = Path("deep") / f"out-{number}.zarr"
        qdist.write_zarr(path, grid, arrays, step=number)
        group = zarr.open_group(path, mode="r")
        assert group.metadata.zarr_format == 3 and group.attrs["step"] == number
        assert sorted(group.array_keys()) == sorted(wholes)
        assert_equal({name: group[name][...] for name in wholes}, wholes)
        assert group["v"].metadata.dimension_names[-2:] == ("component_0", "component_1")
        patient_barrier(world)


def test_other_ranks_read_it(world):
    grid = qdist.Grid((11, 7), halo=((1, 2), (0, 1)))
    arrays = arrays_of(grid)
    wholes = fill(grid, arrays, 9)
    qdist.write_zarr("here.zarr", grid, arrays, step=12)
    for array in arrays.values():
        array.fill(1)
    assert qdist.read_zarr("here.zarr", grid, arrays) == 12
    assert_equal(gathered(grid, arrays), wholes)
    assert arrays["u"].to_numpy()[0, 0] == 1  # of the halo
    if world.rank == 0:
        one = qdist.Grid((11, 7), halo=2, periodic=True, world=solo(world))
        others = arrays_of(one)
        qdist.read_zarr("here.zarr", one, {"v": others["v"]})
        assert np.array_equal(one.gather(others["v"]), wholes["v"])
        qdist.write_zarr("one.zarr", one, {"v": others["v"]}, step=13)
    patient_barrier(world)
    arrays["v"].fill(0)
    assert qdist.read_zarr("one.zarr", grid, {"v": arrays["v"]}) == 13
    assert_equal({"v": found} if (found := grid.gather(arrays["v"])) is not None else {}, wholes)


def refused(kind, call) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def test_what_does_not_fit_is_refused_on_all_ranks(world):
    grid = qdist.Grid((8, 8))
    u, v = grid.field(qd.f32), grid.field(qd.f64)
    qdist.write_zarr("taken.zarr", grid, {"u": u})
    assert "is there already" in refused(FileExistsError, lambda: qdist.write_zarr("taken.zarr", grid, {"u": u}))
    assert "no zarr store" in refused(FileNotFoundError, lambda: qdist.read_zarr("nowhere.zarr", grid, {"u": u}))
    assert "no array 'w'; it has u" in refused(ValueError, lambda: qdist.read_zarr("taken.zarr", grid, {"w": u}))
    assert "float32 of shape (8, 8)" in refused(ValueError, lambda: qdist.read_zarr("taken.zarr", grid, {"u": v}))
    other = qdist.Grid((9, 8))
    said = refused(ValueError, lambda: qdist.read_zarr("taken.zarr", other, {"u": other.field(qd.f32)}))
    assert "of shape (8, 8), and the arrays of this grid are float32 of shape (9, 8)" in said


def test_what_one_rank_cannot_do_fails_on_all(world):
    grid = qdist.Grid((8, 8))
    u = grid.field(qd.f32)
    qdist.write_zarr("torn.zarr", grid, {"u": u})
    if world.rank == 0:
        Path("file").write_text("")
        Path("torn.zarr/zarr.json").write_text("{")
    patient_barrier(world)
    refused(Exception, lambda: qdist.write_zarr("file/out.zarr", grid, {"u": u}))
    refused(Exception, lambda: qdist.read_zarr("torn.zarr", grid, {"u": u}))
    assert "whole number" in refused(ValueError, lambda: qdist.write_zarr("s.zarr", grid, {"u": u}, step=0.5))
    if world.size > 1:
        name = "u" if world.rank == 0 else "w"
        said = refused(qd.QuadrantsRuntimeError, lambda: qdist.write_zarr("d.zarr", grid, {name: u}))
        assert "do not write_zarr the same" in said and not Path("d.zarr").exists()
    assert world.sum(1) == world.size


def test_a_killed_run_leaves_no_store_and_the_next_one_takes_its_place(world):
    grid = qdist.Grid((8, 8))
    u = grid.field(qd.f32)
    left = Path(".again.zarr.part")
    if world.rank == 0:
        left.mkdir()
        (left / "zarr.json").write_text("{")
    patient_barrier(world)
    assert "no zarr store" in refused(FileNotFoundError, lambda: qdist.read_zarr("again.zarr", grid, {"u": u}))
    qdist.write_zarr("again.zarr", grid, {"u": u})
    assert not left.exists() and qdist.read_zarr("again.zarr", grid, {"u": u}) == 0


def test_names_and_damage_are_told(world):
    grid = qdist.Grid((8, 8))
    u = grid.field(qd.f32)
    for name in ("", "zarr.json", "a/zarr.json", "__x"):
        refused(ValueError, lambda name=name: qdist.write_zarr("named.zarr", grid, {name: u}))
    u.fill(1)  # zarr writes no zeros
    qdist.write_zarr("named.zarr", grid, {"file": u})
    chunk = next(path for path in sorted(Path("named.zarr/file/c").rglob("*")) if path.is_file())
    for path in (chunk, Path("named.zarr/file/zarr.json")):
        patient_barrier(world)
        if world.rank == 0:
            path.write_bytes(b"{")
        patient_barrier(world)
        said = refused(qd.QuadrantsRuntimeError, lambda: qdist.read_zarr("named.zarr", grid, {"file": u}))
        assert "array 'file' of the zarr store named.zarr cannot be read" in said
    assert world.sum(1) == world.size


def test_a_missing_package_is_named(world):
    grid = qdist.Grid((8, 8))
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "zarr"}
    for name in kept:
        del sys.modules[name]
    sys.modules["zarr"] = None  # as Python marks what cannot be imported
    try:
        said = refused(qd.QuadrantsRuntimeError, lambda: qdist.write_zarr("x.zarr", grid, {"u": grid.field(qd.f32)}))
    finally:
        del sys.modules["zarr"]
        sys.modules.update(kept)
    assert "qdist.write_zarr needs zarr" in said and "pip install zarr" in said


if __name__ == "__main__":
    main(globals())
