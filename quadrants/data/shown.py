"""How notebooks and consoles show fields, ndarrays and tensors: what they are, and their first elements."""

from __future__ import annotations

import html
import math

import numpy as np

from quadrants.data import bulk, memory
from quadrants.errors import QuadrantsRuntimeError

ROWS = COLUMNS = 8
# More elements than these are not brought from a device, or gathered from a tree, only to show some.
MOST_COPIED = 1 << 20


def description(container) -> str:
    """`f32, shape (64, 64), order ji, with gradient`; an element type such as `3 f32` or `2 x 2 f32`."""
    reason = _unusable(container)
    if reason:
        return reason
    extents = " x ".join(map(str, container._element_shape))
    parts = [f"{extents} {container.dtype}".strip(), f"shape {container.shape}", *_stored(container)]
    return ", ".join([*parts, "with gradient"] if container.has_grad() else parts)


def _unusable(container) -> str:
    """Why there is nothing to show, or "". Allocates nothing: more may be placed beside a field that is looked at."""
    check = container._check_usable
    if hasattr(container, "_is_placed"):
        if not container._is_placed():
            return "not placed yet"
        check = container._check_alive
    try:
        check()
    except QuadrantsRuntimeError as error:
        return str(error)
    return ""


def _stored(container) -> list[str]:
    if not container.layout:
        return []
    return ["order " + "".join("ijklmnopqrst"[axis] for axis in container.layout)]


def head(container) -> np.ndarray | None:
    """The first elements of the last two axes, at the start of the others; None if that takes a copy of too much."""
    on_device = memory.is_device(container._memory())
    if on_device and math.prod(container.shape + container._element_shape) > MOST_COPIED:
        return None
    fetched = on_device and not bulk.is_quantised(container)
    content = container._to_numpy(None, True) if fetched else container._export()
    rank = len(container.shape)
    first = content[(0,) * max(rank - 2, 0)]
    return np.array(first[(slice(ROWS), slice(COLUMNS))[: min(rank, 2)]])


def table(container, title: str) -> str:
    """The description above a table of the first elements."""
    top = f"<b>{html.escape(title)}</b> {html.escape(description(container))}"
    if _unusable(container):
        return f"<div>{top}</div>"
    container._check_usable()  # allocates, as reading an element does
    first = head(container)
    if first is None:
        return f"<div>{top}<br>too large to be shown</div>"
    return f"<div>{top}{_table(first, container.shape)}{_where(container.shape)}</div>"


def _where(shape: tuple) -> str:
    """Which part of an array of more than two axes is shown."""
    return f"[{', '.join('0' * (len(shape) - 2))}, :, :]" if len(shape) > 2 else ""


def _table(first: np.ndarray, shape: tuple) -> str:
    shown = first[(None,) * (2 - min(len(shape), 2))]
    cut = (*(1, 1), *shape)[-2:]
    lines = [[_cell(x) for x in row] + ["&hellip;"] * (cut[1] > COLUMNS) for row in shown]
    lines += [["&hellip;"]] * (cut[0] > ROWS)
    return f"<table>{''.join('<tr>' + ''.join(f'<td>{x}</td>' for x in line) + '</tr>' for line in lines)}</table>"


def _cell(x) -> str:
    text = np.array2string(np.asarray(x), precision=4, separator=", ")
    return html.escape(text).replace("\n", "<br>")
