"""Checkpoints: what was saved on some ranks is loaded on others, and damage is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from on_ranks import main, patient_barrier, solo

import quadrants as qd
from quadrants import distributed as qdist

SHAPE = (11, 7)


def arrays_of(grid) -> dict:
    struct = qd.types.struct(a=qd.f64, b=qd.types.vector(2, qd.i16))
    return {"u": grid.field(qd.f32), "v": grid.ndarray(qd.types.vector(3, qd.f64)), "s": struct.field(shape=grid.local)}


def fill(grid, arrays, seed: int) -> dict:
    """Set all of them, and return the whole arrays."""
    rng = np.random.default_rng(seed)
    wholes = {
        "u": rng.normal(size=SHAPE).astype(np.float32),
        "v": rng.normal(size=(*SHAPE, 3)),
        "s": {"a": rng.normal(size=SHAPE), "b": rng.integers(-9, 9, (*SHAPE, 2)).astype(np.int16)},
    }
    for name, whole in wholes.items():
        grid.scatter(whole, arrays[name])
    return wholes


def assert_holds(grid, arrays, wholes):
    for name, whole in wholes.items():
        found = grid.gather(arrays[name])
        if found is not None:
            pairs = [(found[m], whole[m]) for m in whole] if isinstance(whole, dict) else [(found, whole)]
            assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs), name


def test_a_checkpoint_is_loaded_on_these_ranks_and_on_others(world):
    grid = qdist.Grid(SHAPE, halo=((1, 2), (0, 1)))
    arrays = arrays_of(grid)
    wholes = fill(grid, arrays, 1)
    qdist.save("here", grid, arrays, step=12)
    for array in arrays.values():
        array.fill(-1)
    assert qdist.load("here", grid, arrays) == 12
    assert_holds(grid, arrays, wholes)
    assert arrays["u"].to_numpy()[0, 0] == -1  # of the halo
    if world.rank == 0:
        one = qdist.Grid(SHAPE, halo=2, periodic=True, world=solo(world))
        others = arrays_of(one)
        assert qdist.load("here", one, {"v": others["v"]}) == 12
        assert_holds(one, others, {"v": wholes["v"]})
        qdist.save("one", one, others | {"u": others["u"]}, step=13)
    patient_barrier(world)
    assert qdist.load("one", grid, arrays) == 13
    assert (arrays["u"].to_numpy()[1:-2, :-1] == 0).all()
    assert_holds(grid, arrays, {"v": wholes["v"]})


def test_the_next_checkpoint_takes_the_place_of_the_last(world):
    grid = qdist.Grid(SHAPE)
    arrays = arrays_of(grid)
    if world.rank == 0:
        Path("again").mkdir()
        Path("again/manifest.json.0123456789ab.part").touch()  # of a program that was killed
    for step in range(3):
        wholes = fill(grid, arrays, step)
        qdist.save("again", grid, arrays, step=step)
    assert qdist.load("again", grid, arrays) == 2
    assert_holds(grid, arrays, wholes)
    files = sorted(path.name for path in Path("again").iterdir())
    manifest = json.loads(Path("again/manifest.json").read_text())
    assert files == sorted(["lock", "manifest.json", *(part["file"] for part in manifest["parts"])])
    assert len(manifest["parts"]) == world.size and manifest["seed"] == 7 and manifest["step"] == 2


def refused(call, kind) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def test_what_does_not_fit_is_refused(world):
    grid, other = qdist.Grid(SHAPE), qdist.Grid((40, 30))
    u, pair = grid.field(qd.f32), grid.field(qd.types.vector(2, qd.f32))
    qdist.save("fits", grid, {"u": u})
    assert "no checkpoint" in refused(lambda: qdist.load("nowhere", grid, {"u": u}), FileNotFoundError)
    assert "of shape (11, 7)" in refused(lambda: qdist.load("fits", other, {"u": other.field(qd.f32)}), ValueError)
    assert "no array 'w'; it has u" in refused(lambda: qdist.load("fits", grid, {"w": u}), ValueError)
    assert "float32[2]" in refused(lambda: qdist.load("fits", grid, {"u": pair}), ValueError)
    assert "is not of" in refused(lambda: qdist.save("fits", grid, {"u": other.field(qd.f32)}), ValueError)


def test_names_are_any_texts(world):
    grid = qdist.Grid(SHAPE)
    names = ("file", "allow_pickle", "a/b", "", "..", "\u03c1 x")
    arrays = {name: grid.field(qd.f32) for name in names}
    for number, array in enumerate(arrays.values()):
        array.fill(number)
    qdist.save("names", grid, arrays)
    again = {name: grid.field(qd.f32) for name in names}
    qdist.load("names", grid, again)
    for number, array in enumerate(again.values()):
        whole = grid.gather(array)
        assert whole is None or (whole == number).all()
    assert "must be a text, not 3" in refused(lambda: qdist.save("names", grid, {3: arrays["file"]}), TypeError)
    pair = grid.field(qd.types.struct(a=qd.f32))
    twice = {"s": pair, "s.a": arrays["file"]}
    assert "'s.a' names a member" in refused(lambda: qdist.save("names", grid, twice), ValueError)


def test_a_manifest_of_other_kinds_is_damaged(world):
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    qdist.save("kinds", grid, {"u": u})
    path = Path("kinds/manifest.json")
    whole = json.loads(path.read_text())
    for name in ("step", "shape", "arrays", "parts", "sha256"):
        world.barrier()
        if world.rank == 0:
            path.write_text(json.dumps({**whole, name: None}))
        world.barrier()
        assert f"no {name} that can be read" in refused(
            lambda: qdist.load("kinds", grid, {"u": u}), qd.QuadrantsRuntimeError
        )


def test_a_manifest_that_says_something_else_is_damaged(world):
    """Also where it leaves cells out, of which nothing else would tell."""
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    qdist.save("changed", grid, {"u": u})
    path = Path("changed/manifest.json")
    whole = path.read_text()
    changes = [
        lambda x: x["parts"].pop(),
        lambda x: x["parts"].clear(),
        lambda x: x["parts"].append(x["parts"][0]),
        lambda x: x["parts"][-1]["block"][0].reverse(),
        lambda x: x["parts"][0].pop("sha256"),
        lambda x: x["arrays"]["u"].update(dtype="<f8"),
        lambda x: x.update(step=8),
        lambda x: x.update(sha256=""),
    ]
    for change in changes:
        world.barrier()
        if world.rank == 0:
            change(other := json.loads(whole))
            path.write_text(json.dumps(other))
        world.barrier()
        assert "it is not what was written" in refused(
            lambda: qdist.load("changed", grid, {"u": u}), qd.QuadrantsRuntimeError
        )


def test_a_damaged_part_is_found(world):
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    qdist.save("damaged", grid, {"u": u})
    if world.rank == 0:
        manifest = json.loads(Path("damaged/manifest.json").read_text())
        for part in manifest["parts"]:
            path = Path("damaged", part["file"])
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
    world.barrier()
    assert "damaged or missing" in refused(lambda: qdist.load("damaged", grid, {"u": u}), qd.QuadrantsRuntimeError)


def test_a_part_that_one_rank_reads_is_missing_for_all(world):
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    qdist.save("lacking", grid, {"u": u})
    if world.rank == 0:
        Path("lacking", json.loads(Path("lacking/manifest.json").read_text())["parts"][-1]["file"]).unlink()
    world.barrier()
    assert "damaged or missing" in refused(lambda: qdist.load("lacking", grid, {"u": u}), qd.QuadrantsRuntimeError)
    assert world.sum(1) == world.size


def test_a_manifest_that_is_none_is_damaged(world):
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    qdist.save("torn", grid, {"u": u})
    for text, said in (
        ("{", "is damaged"),
        ("[]", "it has no arrays, format"),
        ('{"format": 2}', "it has no arrays, parts"),
        ("[" * 100_000, "is damaged"),
    ):
        if world.rank == 0:
            Path("torn/manifest.json").write_text(text)
        world.barrier()
        assert said in refused(lambda: qdist.load("torn", grid, {"u": u}), qd.QuadrantsRuntimeError)


def test_a_folder_that_cannot_be_made_is_told_on_all_ranks(world):
    grid = qdist.Grid(SHAPE)
    u = grid.field(qd.f32)
    if world.rank == 0:
        Path("file").write_text("")
    world.barrier()
    for folder in ("file", "file/folder"):
        assert "file" in refused(lambda: qdist.save(folder, grid, {"u": u}), OSError)
        refused(lambda: qdist.load(folder, grid, {"u": u}), OSError)
        assert world.sum(1) == world.size
    refused(lambda: qdist.save(None, grid, {"u": u}), TypeError)


def test_what_ranks_save_is_compared(world):
    grid = qdist.Grid(SHAPE)
    u, v = grid.field(qd.f32), grid.field(qd.f64)
    for step in (1.5, "2", True, None):
        assert "must be a whole number" in refused(lambda: qdist.save("steps", grid, {"u": u}, step=step), ValueError)
    qdist.save("steps", grid, {"u": u}, step=np.int32(3))
    if world.size == 1:
        return
    first = world.rank == 0
    for call, mine, other in (
        (lambda: qdist.save("steps", grid, {"u" if first else "w": u}), "step 0: u, which", "step 0: w, which"),
        (lambda: qdist.save("steps", grid, {"u": u if first else v}), "array 0: float32", "array 1: float64"),
        (lambda: qdist.save("steps", grid, {"u": u}, step=min(world.rank, 1)), "step 0: u,", "step 1: u,"),
        (lambda: qdist.save("steps" if first else "other", grid, {"u": u}), "/steps, step 0", "/other, step 0"),
    ):
        said = refused(call, qd.QuadrantsRuntimeError)
        assert "do not save the same" in said and (mine in said) and (other in said), said
    equal = grid.field(qd.f32)
    said = refused(lambda: qdist.save("steps", grid, {"u": u if first else equal}), qd.QuadrantsRuntimeError)
    assert "array 0: float32" in said and "array 2: float32" in said, said
    assert "whole number" in refused(lambda: qdist.save("steps", grid, {"u": u}, step=1 if first else 1.5), ValueError)
    assert qdist.load("steps", grid, {"u": u}) == 3


if __name__ == "__main__":
    main(globals())
