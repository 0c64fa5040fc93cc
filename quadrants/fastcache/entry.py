"""One kernel of an earlier process: what it depended on, how to call it, and which file has its code."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

from quadrants import banner
from quadrants.emit.launches import Launch
from quadrants.emit.regions import LaunchRegion
from quadrants.emit.stack_record import KeptDepths, StackPlan
from quadrants.ir.types import DType, StructType, TensorType, primitive, tensor_type
from quadrants.runtime.recipe import Recipe, Slot


@dataclass(slots=True)
class Entry:
    """functions: (how to reach it, its lines, its digest), the kernel's first. captures: (number of the function, path,
    description). artifact: the key of the code in the disk cache."""

    functions: list
    captures: list
    recipe: Recipe
    artifact: str

    def encode(self) -> bytes:
        """JSON text: reading it runs no code, and people can look at it."""
        r = self.recipe
        return json.dumps(
            {
                "functions": self.functions,
                "captures": self.captures,
                "artifact": self.artifact,
                "name": r.name,
                "entry": r.entry,
                "size": r.size,
                "slots": [
                    [s.param, s.path, s.kind, _encode_type(s.type), s.offset, s.shape, s.ndim, s.window]
                    for s in r.slots
                ],
                "results": [[_encode_type(t), offset] for t, offset in r.results],
                "sites": r.sites,
                "times": [r.times, r.tasks, r.task_ids],
                "regions": [astuple(region) for region in r.regions],
                "checkpoints": [r.status, r.labels],
                "written": r.written,
                "device": [r.frame, r.error, r.seed, r.prints, r.in_memory],
                "launches": [astuple(launch) for launch in r.launches],
                "kept": astuple(r.kept) if r.kept is not None else None,
                "stacks": astuple(r.stacks) if r.stacks is not None else None,
            },
            separators=(",", ":"),
        ).encode()


def decode(content: bytes) -> Entry:
    """The entry of such a text. Raises ValueError, TypeError or LookupError when it is not one."""
    d = json.loads(content)
    slots = [
        Slot(p, tuple(path), kind, _decode_type(t), *rest, tuple(window))
        for p, path, kind, t, *rest, window in d["slots"]
    ]
    recipe = Recipe(
        name=d["name"],
        entry=d["entry"],
        size=d["size"],
        slots=slots,
        results=[(_decode_type(t), offset) for t, offset in d["results"]],
        sites=[(_tuples(m), [banner.Frame(*f) for f in frames], name) for m, frames, name in d["sites"]],
        times=d["times"][0],
        tasks=tuple(d["times"][1]),
        task_ids=tuple(d["times"][2]),
        regions=tuple(LaunchRegion(*map(_tuples, region)) for region in d["regions"]),
        status=d["checkpoints"][0],
        labels=tuple(d["checkpoints"][1]),
        written=tuple(d["written"]),
        launches=tuple(Launch(*(_tuples(member) for member in launch)) for launch in d["launches"]),
        frame=d["device"][0],
        error=d["device"][1],
        seed=d["device"][2],
        prints=d["device"][3],
        in_memory=d["device"][4],
        kept=KeptDepths(*map(_tuples, d["kept"])) if d["kept"] is not None else None,
        stacks=StackPlan(*map(_tuples, d["stacks"])) if d["stacks"] is not None else None,
    )
    captures = [(number, tuple(path), text) for number, path, text in d["captures"]]
    return Entry(d["functions"], captures, recipe, d["artifact"])


def _tuples(x):
    return tuple(_tuples(item) for item in x) if isinstance(x, list) else x


def _encode_type(t):
    if isinstance(t, TensorType):
        return [list(t.shape), t.dtype.name]
    if isinstance(t, StructType):
        return {"name": t.name, "members": [[key, _encode_type(kind)] for key, kind in t.members]}
    return t.name if isinstance(t, DType) else None


def _decode_type(x):
    if isinstance(x, list):
        return tensor_type(tuple(x[0]), primitive(x[1]))
    if isinstance(x, dict):
        return StructType(tuple((key, _decode_type(kind)) for key, kind in x["members"]), x["name"])
    return None if x is None else primitive(x)
