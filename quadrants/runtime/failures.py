"""What is raised where a launch reports a failure: from the message of its site and the recorded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quadrants import banner
from quadrants.errors import QuadrantsAssertionError, QuadrantsRuntimeError
from quadrants.launch.recipe import Site

Message = tuple[Any, ...]  # its kind, and what else that needs
Values = Sequence[Any]  # integers and real numbers

_OF_THE_RUNTIME = frozenset(("adstack memory", "adstack walk", "adstack diverged"))


def of_site(site: Site) -> Callable[[Values, int], Exception]:
    """A function from the recorded values and the number of the thread to the exception to raise."""
    message, frames, kernel_name = site

    def failure(values: Values, worker: int) -> Exception:
        if message[0] == "view":
            return QuadrantsAssertionError(_describe_view(message, values, worker, kernel_name))
        text = _describe(message, values, kernel_name) + banner.format_banner(frames, "")
        # What the user's code does wrong is an assertion; that there is no memory is none.
        return (QuadrantsRuntimeError if message[0] in _OF_THE_RUNTIME else QuadrantsAssertionError)(text)

    return failure


def _describe(message: Message, values: Values, kernel_name: str) -> str:
    kind: str = message[0]
    if kind == "field":
        _, label, shape, offset = message
        where = f"with offset {_tuple(offset)} " if offset else ""
        return (
            f"(kernel={kernel_name}) Accessing field ({label}) of size {_tuple(shape)} {where}with indices "
            f"{_tuple(values)}"
        )
    if kind == "shared":
        size = _tuple(message[1])
        return f"(kernel={kernel_name}) Accessing a shared array of size {size} with indices {_tuple(values)}"
    if kind == "ndarray":
        return (
            f"[kernel={kernel_name}] Out of bound access to ndarray at arg {message[1]} with indices "
            f"[{', '.join(map(str, values))}]"
        )
    if kind.startswith("adstack"):
        return _describe_stack(message, values, kernel_name)
    if kind == "tensor":
        shape = ", ".join(map(str, message[1]))
        return f"Out of bound access to a [{shape}] matrix with index [{', '.join(map(str, values))}]"
    texts: Sequence[str] = message[1]
    out = texts[0]
    for value, text in zip(values, texts[1:]):
        out += (f"{value:f}" if isinstance(value, float) else str(value)) + text
    return out


def _describe_stack(message: Message, values: Values, kernel_name: str) -> str:
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


def _describe_view(message: Message, values: Values, worker: int, kernel_name: str) -> str:
    _, kind, stack = message
    if kind == "construction":
        offset, size, length = values
        return f"\nBufferView construction out of range: offset={offset}, size={size}, ndarray length={length}."
    if kind == "access":
        index, offset, size = values
        text = (
            f"BufferView Out Of Range: kernel[{kernel_name}] tid={worker}, "
            f"got index {index} (offset={offset}, size={size})."
        )
    else:
        offset, size, parent = values
        text = (
            f"BufferView subview Out Of Range: kernel[{kernel_name}] tid={worker}, subview offset={offset}, "
            f"subview size={size}, parent size={parent}."
        )
    return "\n".join(("", text, "Callstack:", *stack))


def _tuple(items: Values) -> str:
    return "(" + ", ".join(str(i) for i in items) + ")"
