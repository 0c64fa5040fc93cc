"""Signatures of what folds.py makes in a loop, for type checkers and editors."""

from typing import Any

def reduce_add(value: Any) -> Any:
    """The sum of `value` over the subgroup, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_add(a[i])
    """

def reduce_add_tiled(value: Any, log2_size: int) -> Any:
    """The sum of `value` over the tile of 2**log2_size lanes, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_add_tiled(a[i], 5)
    """

def reduce_min(value: Any) -> Any:
    """The minimum of `value` over the subgroup, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_min(a[i])
    """

def reduce_min_tiled(value: Any, log2_size: int) -> Any:
    """The minimum of `value` over the tile of 2**log2_size lanes, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_min_tiled(a[i], 5)
    """

def reduce_max(value: Any) -> Any:
    """The maximum of `value` over the subgroup, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_max(a[i])
    """

def reduce_max_tiled(value: Any, log2_size: int) -> Any:
    """The maximum of `value` over the tile of 2**log2_size lanes, in its first lane; the other lanes hold parts.

    total = qd.simt.subgroup.reduce_max_tiled(a[i], 5)
    """

def reduce_all_add(value: Any) -> Any:
    """The sum of `value` over the subgroup, in every lane.

    total = qd.simt.subgroup.reduce_all_add(a[i])
    """

def reduce_all_add_tiled(value: Any, log2_size: int) -> Any:
    """The sum of `value` over the tile of 2**log2_size lanes, in every lane.

    total = qd.simt.subgroup.reduce_all_add_tiled(a[i], 5)
    """

def reduce_all_min(value: Any) -> Any:
    """The minimum of `value` over the subgroup, in every lane.

    total = qd.simt.subgroup.reduce_all_min(a[i])
    """

def reduce_all_min_tiled(value: Any, log2_size: int) -> Any:
    """The minimum of `value` over the tile of 2**log2_size lanes, in every lane.

    total = qd.simt.subgroup.reduce_all_min_tiled(a[i], 5)
    """

def reduce_all_max(value: Any) -> Any:
    """The maximum of `value` over the subgroup, in every lane.

    total = qd.simt.subgroup.reduce_all_max(a[i])
    """

def reduce_all_max_tiled(value: Any, log2_size: int) -> Any:
    """The maximum of `value` over the tile of 2**log2_size lanes, in every lane.

    total = qd.simt.subgroup.reduce_all_max_tiled(a[i], 5)
    """

def inclusive_add(value: Any) -> Any:
    """The sum of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_add(a[i])
    """

def inclusive_add_tiled(value: Any, log2_size: int) -> Any:
    """The sum of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_add_tiled(a[i], 5)
    """

def inclusive_mul(value: Any) -> Any:
    """The product of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_mul(a[i])
    """

def inclusive_mul_tiled(value: Any, log2_size: int) -> Any:
    """The product of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_mul_tiled(a[i], 5)
    """

def inclusive_min(value: Any) -> Any:
    """The minimum of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_min(a[i])
    """

def inclusive_min_tiled(value: Any, log2_size: int) -> Any:
    """The minimum of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_min_tiled(a[i], 5)
    """

def inclusive_max(value: Any) -> Any:
    """The maximum of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_max(a[i])
    """

def inclusive_max_tiled(value: Any, log2_size: int) -> Any:
    """The maximum of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_max_tiled(a[i], 5)
    """

def inclusive_and(value: Any) -> Any:
    """The bitwise and of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_and(a[i])
    """

def inclusive_and_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise and of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_and_tiled(a[i], 5)
    """

def inclusive_or(value: Any) -> Any:
    """The bitwise or of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_or(a[i])
    """

def inclusive_or_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise or of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_or_tiled(a[i], 5)
    """

def inclusive_xor(value: Any) -> Any:
    """The bitwise xor of `value` over the lanes of the subgroup up to this one.

    total = qd.simt.subgroup.inclusive_xor(a[i])
    """

def inclusive_xor_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise xor of `value` over the lanes of the tile of 2**log2_size lanes up to this one.

    total = qd.simt.subgroup.inclusive_xor_tiled(a[i], 5)
    """

def exclusive_add(value: Any) -> Any:
    """The sum of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_add(a[i])
    """

def exclusive_add_tiled(value: Any, log2_size: int) -> Any:
    """The sum of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in its first
    lane.

    total = qd.simt.subgroup.exclusive_add_tiled(a[i], 5)
    """

def exclusive_mul(value: Any) -> Any:
    """The product of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_mul(a[i])
    """

def exclusive_mul_tiled(value: Any, log2_size: int) -> Any:
    """The product of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in its
    first lane.

    total = qd.simt.subgroup.exclusive_mul_tiled(a[i], 5)
    """

def exclusive_min(value: Any) -> Any:
    """The minimum of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_min(a[i])
    """

def exclusive_min_tiled(value: Any, log2_size: int) -> Any:
    """The minimum of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in its
    first lane.

    total = qd.simt.subgroup.exclusive_min_tiled(a[i], 5)
    """

def exclusive_max(value: Any) -> Any:
    """The maximum of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_max(a[i])
    """

def exclusive_max_tiled(value: Any, log2_size: int) -> Any:
    """The maximum of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in its
    first lane.

    total = qd.simt.subgroup.exclusive_max_tiled(a[i], 5)
    """

def exclusive_and(value: Any) -> Any:
    """The bitwise and of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_and(a[i])
    """

def exclusive_and_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise and of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in
    its first lane.

    total = qd.simt.subgroup.exclusive_and_tiled(a[i], 5)
    """

def exclusive_or(value: Any) -> Any:
    """The bitwise or of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_or(a[i])
    """

def exclusive_or_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise or of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in its
    first lane.

    total = qd.simt.subgroup.exclusive_or_tiled(a[i], 5)
    """

def exclusive_xor(value: Any) -> Any:
    """The bitwise xor of `value` over the lanes of the subgroup before this one; the identity in its first lane.

    total = qd.simt.subgroup.exclusive_xor(a[i])
    """

def exclusive_xor_tiled(value: Any, log2_size: int) -> Any:
    """The bitwise xor of `value` over the lanes of the tile of 2**log2_size lanes before this one; the identity in
    its first lane.

    total = qd.simt.subgroup.exclusive_xor_tiled(a[i], 5)
    """

def segmented_reduce_add(value: Any, head_flag: Any) -> Any:
    """The sum of `value` over the lanes of the subgroup from the last one up to this with `head_flag` (integer) != 0;
    its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_add(a[i], first[i])
    """

def segmented_reduce_add_tiled(value: Any, head_flag: Any, log2_size: int) -> Any:
    """The sum of `value` over the lanes of the tile of 2**log2_size lanes from the last one up to this with
    `head_flag` (integer) != 0; its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_add_tiled(a[i], first[i], 5)
    """

def segmented_reduce_min(value: Any, head_flag: Any) -> Any:
    """The minimum of `value` over the lanes of the subgroup from the last one up to this with `head_flag` (integer)
    != 0; its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_min(a[i], first[i])
    """

def segmented_reduce_min_tiled(value: Any, head_flag: Any, log2_size: int) -> Any:
    """The minimum of `value` over the lanes of the tile of 2**log2_size lanes from the last one up to this with
    `head_flag` (integer) != 0; its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_min_tiled(a[i], first[i], 5)
    """

def segmented_reduce_max(value: Any, head_flag: Any) -> Any:
    """The maximum of `value` over the lanes of the subgroup from the last one up to this with `head_flag` (integer)
    != 0; its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_max(a[i], first[i])
    """

def segmented_reduce_max_tiled(value: Any, head_flag: Any, log2_size: int) -> Any:
    """The maximum of `value` over the lanes of the tile of 2**log2_size lanes from the last one up to this with
    `head_flag` (integer) != 0; its first lane counts as one.

    total = qd.simt.subgroup.segmented_reduce_max_tiled(a[i], first[i], 5)
    """
