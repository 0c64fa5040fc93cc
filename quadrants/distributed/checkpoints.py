"""Checkpoints: a file of NumPy a rank and a manifest, in a folder. The manifest is replaced last, and at once."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from quadrants._version import __version_str__
from quadrants.distributed import agreement, arrays, locks, transfer, under_way
from quadrants.distributed.faces import Faces
from quadrants.distributed.grid import Grid
from quadrants.distributed.pieces import Spans, common, piece
from quadrants.errors import QuadrantsRuntimeError

_MANIFEST = "manifest.json"
_LOCK = "lock"
_FORMAT = 2
_KINDS = {"format": int, "step": int, "shape": list, "arrays": dict, "parts": list, "sha256": str}
_CHUNK = 1 << 22  # bytes that are hashed at once


def save(folder: Any, grid: Grid, content: Mapping[str, Any], step: int = 0) -> None:
    """Save the blocks of arrays of a grid, without their halos. Every rank calls it.

    folder: a path that all ranks see; it is made, and a checkpoint in it stays whole until the new one is. content:
    name to field, ndarray or tensor; of a struct every member is saved. step: a whole number to find again.

        qdist.save("checkpoint", grid, {"u": u}, step=100)

    A program that is killed meanwhile leaves the old checkpoint. Of two that save to one folder the second waits for
    the first, by a lock on a file there, where the file system has locks. ValueError for arrays of another grid and
    another step, QuadrantsRuntimeError where ranks save other arrays or steps, OSError where a file cannot be written:
    the same on all ranks.
    """
    path, number, parts = agreed(grid, "save", folder, content, step)
    world = grid.world
    # Names that no earlier checkpoint has.
    token = world.bcast(uuid.uuid4().hex[:12])
    with ExitStack() as stack:
        with agreement.together(world.engine):
            if world.rank == 0:
                path.mkdir(parents=True, exist_ok=True)
                # Before the first part is there: another program clears away what its manifest does not name.
                stack.enter_context(locks.held(path / _LOCK))
        file = f"part-{token}-{world.rank}.npz"
        with agreement.together(world.engine):
            digest = _write_part(path / file, {name: block_values(grid, part) for name, part in parts.items()})
        spans = [list(span) for span in grid.blocks.spans_of(world.rank)]
        written = world.gather({"file": file, "sha256": digest, "block": spans})
        with agreement.together(world.engine):
            if written is not None:
                kinds = {name: {"dtype": part.dtype.str, "element": list(part.element)} for name, part in parts.items()}
                _replace_manifest(path, token, {**_about(grid, number), "arrays": kinds, "parts": written})


def load(folder: Any, grid: Grid, content: Mapping[str, Any]) -> int:
    """Fill the blocks of arrays from a checkpoint, and return its step. Every rank calls it; halos are not filled.

    grid: of the same shape; the number of ranks, the halo and the cut may be others. content: name to array, all or
    some of those that were saved, of the same dtypes.

        step = qdist.load("checkpoint", grid, {"u": u})

    FileNotFoundError where no checkpoint is, ValueError for another shape, name or dtype, QuadrantsRuntimeError for a
    damaged file: the same on all ranks. What arrays have then is not said.
    """
    with agreement.together(grid.world.engine) as rank:
        path = Path(folder)
        manifest = _read_manifest(path)
        parts = named_parts(grid, content)
        _check(manifest, grid, parts)
        under_way.refuse([*parts.values()])
        faces = _read_block(path, manifest, grid, parts)
        rank.says("load the same", f"{_digest_of(manifest)[:12]} into {told(grid, parts)}")
    grid._labels.meet([*parts.values()])
    for face in faces:
        face.store()
    step: int = manifest["step"]
    return step


def agreed(
    grid: Grid, what: str, path: Any, content: Mapping[str, Any], step: Any
) -> tuple[Path, int, dict[str, arrays.Part]]:
    """The path, step and parts of what all ranks are to write, checked and compared."""
    with agreement.together(grid.world.engine) as rank:
        if isinstance(step, bool) or not hasattr(step, "__index__"):
            raise ValueError(f"qdist.{what}: step={step!r} must be a whole number")
        target, number, parts = Path(path), int(step), named_parts(grid, content)
        rank.says(f"{what} the same", f"{os.path.abspath(target)}, step {number}: {told(grid, parts)}")
    grid._labels.meet([*parts.values()])
    return target, number, parts


def told(grid: Grid, parts: Mapping[str, arrays.Part]) -> str:
    """Which array has which name, as ranks have to agree about."""
    return f"{', '.join(parts)}, which are {transfer.about(grid, [*parts.values()])}"


def _read_block(path: Path, manifest: dict[str, Any], grid: Grid, parts: dict[str, arrays.Part]) -> list[Faces]:
    faces = {name: Faces(part, [transfer.block(grid)]) for name, part in parts.items()}
    mine = grid.blocks.spans_of(grid.world.rank)
    for saved in manifest["parts"]:
        if common(mine, saved["block"]) is not None:
            _take(path, saved, faces, mine)
    return [*faces.values()]


def _about(grid: Grid, step: int) -> dict[str, Any]:
    return {
        "format": _FORMAT, "version": __version_str__, "step": step, "seed": grid.world.seed,
        "shape": grid.shape, "dims": grid.dims, "halo": grid.halo, "periodic": grid.periodic,
    }  # fmt: skip


def named_parts(grid: Grid, content: Mapping[str, Any]) -> dict[str, arrays.Part]:
    """Name to part, by name: ranks may write them in any order. Members of structs are `name.member`. ValueError for
    arrays of another grid, and a name twice.
    """
    found: dict[str, arrays.Part] = {}
    for name in content:
        if not isinstance(name, str):
            raise TypeError(f"the name of an array must be a text, not {name!r}")
    for name, array in sorted(content.items()):
        for part in transfer.parts(grid, array):
            key = f"{name}.{part.name}" if arrays.is_struct(array) else name
            if key in found:
                raise ValueError(f"{key!r} names a member of a struct and another array: give one of them another name")
            found[key] = part
    return found


def block_values(grid: Grid, part: arrays.Part) -> np.ndarray[Any, Any]:
    """What this rank owns of a part."""
    face = Faces(part, [transfer.block(grid)])
    face.load()
    values: np.ndarray[Any, Any] = face.values[0]
    return values


def _write_part(file: Path, values: dict[str, np.ndarray[Any, Any]]) -> str:
    with open(file, "wb") as out:
        with zipfile.ZipFile(out, "w") as pieces:  # as np.savez, of which some names are arguments
            for name, found in values.items():
                with pieces.open(f"{name}.npy", "w", force_zip64=True) as piece:
                    np.lib.format.write_array(piece, found)
        out.flush()
        os.fsync(out.fileno())
    return _digest(file)


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with open(file, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _digest_of(manifest: dict[str, Any]) -> str:
    """Of all that a manifest says, in whatever order."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _replace_manifest(path: Path, token: str, manifest: dict[str, Any]) -> None:
    """From one moment to the next the new checkpoint is the valid one. Files of older ones go then."""
    beside = path / f"{_MANIFEST}.{token}.part"
    with open(beside, "w", encoding="utf-8") as out:
        json.dump({**manifest, "sha256": _digest_of(manifest)}, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    os.replace(beside, path / _MANIFEST)
    kept = {part["file"] for part in manifest["parts"]}
    for file in _parts_in(path):
        if file.name not in kept:
            file.unlink(missing_ok=True)


def _parts_in(path: Path) -> Iterator[Path]:
    """Of checkpoints, and manifests of programs that were killed."""
    return itertools.chain(path.glob("part-*-*.npz"), path.glob(f"{_MANIFEST}*.part"))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} has no checkpoint: {_MANIFEST} is not in it") from None
    except (ValueError, RecursionError) as error:
        raise QuadrantsRuntimeError(f"{path / _MANIFEST} is damaged: {error}") from error
    found = manifest if isinstance(manifest, dict) else {}
    if found.get("format", _FORMAT) != _FORMAT:
        raise ValueError(
            f"{path / _MANIFEST} has format {manifest.get('format')}, and this version reads {_FORMAT}; "
            f"it was written by version {manifest.get('version')}"
        )
    wrong = sorted(name for name, kind in _KINDS.items() if not isinstance(found.get(name), kind))
    if wrong:
        raise QuadrantsRuntimeError(f"{path / _MANIFEST} is damaged: it has no {', '.join(wrong)} that can be read")
    if manifest.pop("sha256") != _digest_of(manifest):
        raise QuadrantsRuntimeError(f"{path / _MANIFEST} is damaged: it is not what was written")
    return manifest


def _check(manifest: dict[str, Any], grid: Grid, parts: dict[str, arrays.Part]) -> None:
    if tuple(manifest["shape"]) != grid.shape:
        raise ValueError(f"the checkpoint is of a grid of shape {tuple(manifest['shape'])}, not {grid.shape}")
    for name, part in parts.items():
        saved = manifest["arrays"].get(name)
        if saved is None:
            raise ValueError(f"the checkpoint has no array {name!r}; it has {', '.join(manifest['arrays'])}")
        if (saved["dtype"], saved["element"]) != (part.dtype.str, list(part.element)):
            raise ValueError(
                f"{name} was saved with elements of {np.dtype(saved['dtype'])}{saved['element'] or ''}, and is to be "
                f"loaded into {part.dtype}{list(part.element) or ''}"
            )


def _take(path: Path, saved: dict[str, Any], faces: dict[str, Any], mine: Spans) -> None:
    """What a file of the checkpoint has of this block."""
    file = path / saved["file"]
    if not file.exists() or _digest(file) != saved["sha256"]:
        raise QuadrantsRuntimeError(f"{file} is damaged or missing: it is not what the manifest says of it")
    with np.load(file) as stored:
        for name, face in faces.items():
            here = piece(face.values[0], mine, saved["block"])
            assert here is not None
            here[...] = piece(stored[name], saved["block"], mine)
