"""Rules of the families in which threads work together: `subgroup`, `block`, `warp`, `grid`, `tile`, and `clock`.

need(...)                                           called as, result in brackets
  subgroup  invocation_id                           () [i32]: the lane
            sync mem_fence                          ()
            shuffle shuffle_up shuffle_down shuffle_xor, dtype, log2 or None
                                                    (x, u32) [dtype]; of a tile of 2**log2 lanes, whose lanes alone need
                                                    to be there; the index of `shuffle` then counts from its first lane
            ballot, log2 or None                    (i32) [u64]; bits of other tiles mean nothing
            all any, log2 or None                   (i32) [i32]
            reduce reduce_all inclusive, op, dtype, log2     (x) [dtype]
            exclusive, op, dtype, log2              (x, identity) [dtype]
            segmented, op, dtype, log2              (x, i32 head) [dtype]
  block     sync mem_fence                          ()
            sync_all_nonzero sync_any_nonzero sync_count_nonzero      (i32) [i32]
            thread_idx global_thread_idx            () [i32]
  warp      by the names of `qd.simt.warp`
  grid      mem_fence                               ()
  clock     counter                                 () [i64]

What is here in terms of the shuffles is the same text in every dialect, `_base/prelude/subgroup.j2`. Only the other
helpers are spelled by dialects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quadrants.emit.prelude_spelling import Spelling, unsigned
from quadrants.ir.types import DType, f32, f64, i32, i64, u32, u64

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude

SHUFFLES = ("shuffle", "shuffle_up", "shuffle_down", "shuffle_xor")
SHUFFLED = (i32, u32, i64, u64, f32, f64)
FOLDS = {"reduce": "shuffle_down", "reduce_all": "shuffle_xor", "inclusive": "shuffle_up", "segmented": "shuffle_up"}

# Helpers that do without the place of the thread.
_PLACELESS = ("sync", "mem_fence")
_PLACED = {"block": ("thread_idx", "global_thread_idx")}


def takes_lane(spelling: Spelling, family: str, op: str) -> bool:
    """Whether a helper is handed the record of the thread, as it asks where that is."""
    if (family, op) == ("lane", "room"):
        return True
    if not spelling.places_in_lane:
        return False
    return op not in _PLACELESS if family == "subgroup" else op in _PLACED.get(family, ())


def _lane(p: Prelude, family: str, op: str) -> tuple[tuple[str, ...], ...]:
    return (("lane",),) if takes_lane(p.spelling, family, op) else ()


# Helpers that are functions of the dialect as they are.


def _own(p: Prelude, family: str, op: str) -> str:
    return p.spelling.own.get(f"{family}.{op}", "")


def _plain(family: str) -> Callable[..., str]:
    """The rule of a family whose helpers take no parameters."""

    def rule(p: Prelude, op: str) -> str:
        needs = (i32, u32, i64, u64, *_lane(p, family, op))
        return _own(p, family, op) or p.add(family, f"qd_{family}_{op}", op, needs=needs)

    return rule


def subgroup(p: Prelude, op: str, *params: Any) -> str:
    own = _own(p, "subgroup", op)
    if own:
        return own
    if op in SHUFFLES:
        return _shuffle(p, op, *params)
    if op in ("ballot", "all", "any"):
        (log2,) = params
        tail = "" if log2 is None else f"_{2**log2}"
        needs = (i32, u32, u64, *_tile(p, log2), *_lane(p, "subgroup", op))
        return p.add("subgroup", f"qd_{op}{tail}", op, log2, needs=needs)
    if op in FOLDS or op == "exclusive":
        return _fold(p, op, *params)
    if op == "tile_mask":
        return p.add("subgroup", f"qd_tile_mask_{2 ** params[0]}", "tile_mask", params[0], needs=(u32,))
    return p.add("subgroup", f"qd_{op}", op, needs=(i32, u32, *_lane(p, "subgroup", op)))


def _tile(p: Prelude, log2: int | None) -> tuple[tuple[Any, ...], ...]:
    """What a helper for a part of the lanes needs besides its types."""
    tiled = p.spelling.tile_masks and log2 is not None and log2 < 5
    return (("subgroup", "tile_mask", log2),) if tiled else ()


def _shuffle(p: Prelude, op: str, t: DType, log2: int | None = None) -> str:
    if t not in SHUFFLED:
        raise ValueError(f"lanes exchange {', '.join(map(str, SHUFFLED))}, not {t}")
    tail = "" if log2 is None else f"_{2**log2}"
    needs = (t, u32, ("subgroup", "invocation_id"), *_tile(p, log2))
    return p.add("subgroup", f"qd_{op}_{t}{tail}", op, t, log2, needs=needs)


def _fold(p: Prelude, op: str, how: str, t: DType, log2: int) -> str:
    moves = FOLDS.get(op, "shuffle_up")
    needs: list[Any] = [t, unsigned(t), i32, ("subgroup", moves, t, log2), ("subgroup", "invocation_id")]
    calls = [p.need("subgroup", moves, t, log2)]
    if how in ("min", "max"):
        needs.append(("scalar", how, t))
    if op == "exclusive":
        needs.append(("subgroup", "inclusive", how, t, log2))
        calls.append(p.need("subgroup", "inclusive", how, t, log2))
    if op == "segmented":
        more = (("subgroup", "ballot", log2), ("int", "clz", u64))
        needs += [u64, *more]
        calls += [p.need(*what) for what in more]
    combine = p.need("scalar", how, t) if how in ("min", "max") else None
    return p.add("subgroup", f"qd_{op}_{how}_{t}_{2**log2}", op, t, how, log2, combine, *calls, needs=needs)


SIMT_RULES: dict[str, Callable[..., str]] = {
    "subgroup": subgroup,
    "block": _plain("block"),
    "warp": _plain("warp"),
    "grid": _plain("grid"),
    "clock": _plain("clock"),
}
