"""What is wrong when the stacks of a launch fail it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.errors import QuadrantsAssertionError, QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.runtime.failures import Message, Values

_OF_THE_RUNTIME = frozenset(("adstack memory", "adstack walk", "adstack diverged"))


def error(message: Message) -> type[QuadrantsRuntimeError]:
    """What the user's code does wrong is an assertion; that there is no memory is none."""
    return QuadrantsRuntimeError if message[0] in _OF_THE_RUNTIME else QuadrantsAssertionError


def describe(message: Message, values: Values, kernel_name: str) -> str:
    """The text of a failure, from its message in the recipe and the values in its record."""
    if message[0] == "adstack memory":
        nbytes, rows, stride, kind, number = values
        return (
            f"(kernel={kernel_name}) The adstack heap of {nbytes} bytes for the {('float', 'int')[kind]} stacks of "
            f"task {kernel_name}_{number}, {rows} rows of {stride} bytes, cannot be allocated. Carry fewer variables "
            "through loops, split or checkpoint the kernel, or give it more memory (device_memory_fraction, "
            "device_memory_GB)."
        )
    if message[0] == "adstack diverged":
        return (
            f"(kernel={kernel_name}) The adstack rows of a condition diverged: a thread took row {values[0]} of "
            f"{values[1]}. What the condition reads changed in the launch, by the kernel itself or by another stream; "
            "set ad_stack_sparse_threshold_bytes to more than the heap needs."
        )
    if message[0] == "adstack walk":
        return (
            f"(kernel={kernel_name}) Finding the size of an adstack takes a walk over {values[0]} cells, which exceeds "
            f"the {message[1]} guard. Bound the loop by a shape, an argument or an array that its index is used for "
            "directly, or set ad_stack_size in qd.init."
        )
    _, label, forced, number, slots = message
    length, limit = values[:2]
    cause = (
        "The bound of the loop changed after the launch had found its size, by the kernel itself or through a view "
        "that shares its memory (DLPack, to_torch(copy=False)). Restart from the forward kernel; if that does not "
        "help, the size was worked out wrongly: report it with what QD_DUMP_IR=1 writes"
    )
    if forced:
        cause = f"ad_stack_size={forced} is too small; make it larger, or 0, so that each launch finds the size"
    sizes = (known if at is None else values[at] for _, known, at in slots)
    stacks = ", ".join(f"{name} {'?' if size is None else size}" for (name, *_), size in zip(slots, sizes))
    return (
        f"Adstack overflow in kernel {kernel_name}, task {number}: the loop that carries '{label}' runs {length} "
        f"times, and its stacks have room for {limit}. Slots of the stacks of this task: {stacks}. {cause}."
    )
