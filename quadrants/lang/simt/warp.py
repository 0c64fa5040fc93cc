"""`qd.simt.warp`: the operations of subgroups by the names of CUDA, on CUDA only.

Operands have exactly the dtypes that are named: masks u32, predicates, lanes and offsets i32. Otherwise
QuadrantsTypeError. On other archs QuadrantsCompilationError.
"""

from __future__ import annotations

from quadrants import targets
from quadrants.arch import Arch
from quadrants.errors import QuadrantsCompilationError
from quadrants.ir.types import f32, i32, u32
from quadrants.lang import impl
from quadrants.lang.simt import kernel_scope as at


def _on_cuda(name: str):
    tracer = at.tracer_of(f"warp.{name}")
    target = targets.of_arch(tracer.arch_name)
    if target is None or not target.warps:
        raise QuadrantsCompilationError(
            f"qd.simt.warp.{name} is not supported for arch {Arch(tracer.arch_name)!r}: it is an operation of CUDA. "
            "qd.simt.subgroup has the portable ones."
        )
    return tracer


def _call(name: str, operands: tuple, result):
    """operands: (value, dtype) in order."""
    tracer = _on_cuda(name)
    args = tuple(at.integer(x, t, k, strict=True) for k, (x, t) in enumerate(operands, 1))
    return tracer.intrinsic(f"warp.{name}", args, result)


def sync(mask):
    """Wait for the lanes of `mask`; what they wrote before is then visible to them.

    qd.simt.warp.sync(mask)
    """
    _call("sync", ((mask, u32),), None)


def all_nonzero(mask, predicate):
    """1 (i32) if `predicate` is not 0 on all lanes of `mask`, else 0.

    y = qd.simt.warp.all_nonzero(mask, x[i])
    """
    return _call("all_nonzero", ((mask, u32), (predicate, i32)), i32)


def any_nonzero(mask, predicate):
    """1 (i32) if `predicate` is not 0 on some lane of `mask`, else 0.

    y = qd.simt.warp.any_nonzero(mask, x[i])
    """
    return _call("any_nonzero", ((mask, u32), (predicate, i32)), i32)


def unique(mask, predicate):
    """1 (i32) if `predicate` is 0 on all lanes of `mask` or on none, else 0.

    y = qd.simt.warp.unique(mask, x[i])
    """
    return _call("unique", ((mask, u32), (predicate, i32)), i32)


def ballot(predicate):
    """i32 whose bit i says whether `predicate` is not 0 on lane i.

    y = qd.simt.warp.ballot(x[i])
    """
    return _call("ballot", ((predicate, i32),), i32)


def shfl_sync_i32(mask, val, offset):
    """`val` (i32) of lane `offset`.

    y = qd.simt.warp.shfl_sync_i32(mask, x[i], 1)
    """
    return _call("shfl_sync_i32", ((mask, u32), (val, i32), (offset, i32)), i32)


def shfl_sync_f32(mask, val, offset):
    """`val` (f32) of lane `offset`.

    y = qd.simt.warp.shfl_sync_f32(mask, x[i], 1)
    """
    return _call("shfl_sync_f32", ((mask, u32), (val, f32), (offset, i32)), f32)


def shfl_up_i32(mask, val, offset):
    """`val` (i32) of the lane `offset` below; its own where there is none.

    y = qd.simt.warp.shfl_up_i32(mask, x[i], 1)
    """
    return _call("shfl_up_i32", ((mask, u32), (val, i32), (offset, i32)), i32)


def shfl_up_f32(mask, val, offset):
    """`val` (f32) of the lane `offset` below; its own where there is none.

    y = qd.simt.warp.shfl_up_f32(mask, x[i], 1)
    """
    return _call("shfl_up_f32", ((mask, u32), (val, f32), (offset, i32)), f32)


def shfl_down_i32(mask, val, offset):
    """`val` (i32) of the lane `offset` above; its own where there is none.

    y = qd.simt.warp.shfl_down_i32(mask, x[i], 1)
    """
    return _call("shfl_down_i32", ((mask, u32), (val, i32), (offset, i32)), i32)


def shfl_down_f32(mask, val, offset):
    """`val` (f32) of the lane `offset` above; its own where there is none.

    y = qd.simt.warp.shfl_down_f32(mask, x[i], 1)
    """
    return _call("shfl_down_f32", ((mask, u32), (val, f32), (offset, i32)), f32)


def shfl_xor_i32(mask, val, offset):
    """`val` (i32) of the lane whose number is this one's ^ `offset`.

    y = qd.simt.warp.shfl_xor_i32(mask, x[i], 1)
    """
    return _call("shfl_xor_i32", ((mask, u32), (val, i32), (offset, i32)), i32)


def _needs_volta(name: str) -> None:
    _on_cuda(name)
    if impl.device_query("cuda", "compute_capability", 70) < 70:
        raise AssertionError(f"{name} intrinsic only available on compute_70 or higher")


def match_any(mask, value):
    """u32 mask of the lanes of `mask` whose `value` (i32) is this one's.

    y = qd.simt.warp.match_any(mask, a[i])
    """
    _needs_volta("match_any")
    return _call("match_any", ((mask, u32), (value, i32)), u32)


def match_all(mask, val):
    """`mask` (u32) if `val` (i32) is the same on all its lanes, else 0.

    y = qd.simt.warp.match_all(mask, x[i])
    """
    _needs_volta("match_all")
    return _call("match_all", ((mask, u32), (val, i32)), u32)


def active_mask():
    """u32 mask of the lanes that execute this together.

    y = qd.simt.warp.active_mask()
    """
    return _on_cuda("active_mask").intrinsic("warp.active_mask", (), u32)
