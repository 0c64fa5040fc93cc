"""What a device launches: one record a task, with the number of iterations where the host can work it out.

A program computes an integer from the packed argument block: a tuple of instructions for a stack of 64-bit integers,

    ("const", v)            pushes v
    (dtype name, offset)    pushes the integer at that byte offset of the block: i8 u8 i16 u16 i32 u32 i64 u64 u1
    ("wrap",)               replaces the top by its lowest 32 bits, as a signed number
    (op,)                   replaces the top two, a below b: add sub mul min max and or xor floordiv mod
                            (floordiv and mod round toward minus infinity; a zero divisor gives 0)

As a number of iterations, what is left is never negative: extents are raised to 0 before they are multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

Program = tuple[Any, ...]  # of instructions


class HeapStack(NamedTuple):
    """A stack in a heap. kind: 0 real numbers, 1 integers. bytes: of a slot. depth: -1 where only the launch knows; it
    is then at that `offset` of the argument block."""

    kind: int
    bytes: int
    depth: int
    offset: int


class GatePlaces(NamedTuple):
    """Of a task with a gate. counting: number in the list of the task that counts. passing: offset in the frame of what
    it counts and, 8 bytes on, of the rows that are claimed. rows: offset in the argument block of their number."""

    counting: int
    passing: int
    rows: int


@dataclass(slots=True, repr=False)
class TaskLaunch:
    """One task as a device launches it, with blocks of exactly `block_dim` threads.

    form: "serial": one block of one thread. "flat": `count` threads, in ceil(count / block_dim) blocks; none: do not
    launch. Thread k does iteration k, unless a block does a tile (see `emit.tiles`) or a thread several iterations (see
    `emit.batches`). "stride": `count` iterations, and any grid is right; more than `blocks` blocks on each
    multiprocessor gain nothing, and where the count is known more than ceil(count / block_dim) do nothing. "chunk": the
    same of `count` threads, each of which does iterations that are neighbours, and gains nothing by fewer.
    count: a number, a program, or None where only the device knows; never None for "flat". shared_bytes: dynamic shared
    memory. local: it only sets variables of the kernel, and is not left out by a launch that begins at a later
    checkpoint. stacks: those in the heaps; a task with any is launched with 65536 threads at most. number: of the task,
    as messages have it. unit: which of the binaries of the kernel has it, where there are several.
    """

    name: str
    kind: str
    form: str
    block_dim: int
    count: int | Program | None
    shared_bytes: int = 0
    blocks: int = 0
    local: bool = False
    stacks: tuple[HeapStack, ...] = ()
    number: int = 0
    gate: GatePlaces | None = None
    unit: int = 0


@dataclass(slots=True, repr=False)
class LaunchRegion:
    """Tasks `begin` to `end` of a kernel; see `ir.nodes.Region` for kind, label and parent.

    flag: where the argument block has the address of the flag, -1 for none; source: number of the parameter, and the
    names of the members, where the user's arguments have it.
    random: whether its tasks draw random numbers, which differ from pass to pass. ended: offset in the frame of an i32
    that makes its tasks do nothing while it is not 0, -1 where they do not look. again: of one that does while it is 0.
    """

    kind: str
    begin: int
    end: int
    parent: int = -1
    flag: int = -1
    source: tuple[Any, ...] = ()
    label: int = 0
    random: bool = False
    ended: int = -1
    again: int = -1
