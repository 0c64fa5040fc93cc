"""What is raised where a launch reports a failure: from the message of its site and the recorded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quadrants import banner
from quadrants.errors import QuadrantsAssertionError, QuadrantsRuntimeError
from quadrants.formats import written
from quadrants.launch.recipe import Site

Message = tuple[Any, ...]  # its kind, and what else that needs
Values = Sequence[Any]  # integers and real numbers

_LOOP_CUT = (
    "(kernel={}) The driver of the device ended a loop that had more to do: llvmpipe (Mesa's Vulkan on a processor) "
    "lets a thread do 65535 rounds of all its loops in one task. Have more threads do less each, split the kernel, or "
    "take arch=qd.cpu."
)

_RECURSION = (
    "(kernel={}) '{}' called itself so often, by way of others or not, that the stack of its thread has no room for "
    "more. Give it a condition that ends, or write a loop."
)

_SPARSE_MEMORY = (
    "(kernel={}) Out of memory: the node {} has {} active cells of {} bytes each, and there is no memory for more. "
    "What is stored stays; deactivate cells that are not needed, or use smaller cells."
)


def of_site(site: Site) -> Callable[[Values, int], Exception]:
    """A function from the recorded values and the number of the thread to the exception to raise."""
    message, frames, kernel_name = site

    def failure(values: Values, worker: int) -> Exception:
        if message[0] == "view":
            return QuadrantsAssertionError(_describe_view(message, values, worker, kernel_name))
        if message[0] == "loop cut":
            return QuadrantsRuntimeError(_LOOP_CUT.format(kernel_name))
        if message[0] == "recursion":
            return QuadrantsRuntimeError(banner.format_banner(frames, _RECURSION.format(kernel_name, message[1])))
        if message[0] == "sparse memory":
            return QuadrantsRuntimeError(_SPARSE_MEMORY.format(kernel_name, message[1], values[0], message[2]))
        error: type[Exception] = QuadrantsAssertionError
        describe = _describe
        if message[0].startswith("adstack"):
            from quadrants.runtime import adstack_messages  # which few launches need

            error, describe = adstack_messages.error(message), adstack_messages.describe
        return error(describe(message, values, kernel_name) + banner.format_banner(frames, ""))

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
    if kind == "list":
        return f"(kernel={kernel_name}) Append to the full list of {message[1]}: it holds {message[2]} entries"
    if kind == "shared":
        size = _tuple(message[1])
        return f"(kernel={kernel_name}) Accessing a shared array of size {size} with indices {_tuple(values)}"
    if kind == "ndarray":
        return (
            f"[kernel={kernel_name}] Out of bound access to ndarray at arg {message[1]} with indices "
            f"[{', '.join(map(str, values))}]"
        )
    if kind == "tensor":
        shape = ", ".join(map(str, message[1]))
        return f"Out of bound access to a [{shape}] matrix with index [{', '.join(map(str, values))}]"
    texts: Sequence[str] = message[1]
    specs: Sequence[str] = message[2] if len(message) > 2 else ()
    out = texts[0]
    for value, spec, text in zip(values, specs, texts[1:]):
        out += written(value, spec) + text
    return out


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
