"""Drawings of the layouts of fields, made of the addresses that the cells have in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import quadrants as qd


@qd.kernel
def _addresses_1d(x: qd.template(), out: qd.types.ndarray(qd.u64, 1), begin: qd.i32):
    for i in range(out.shape[0]):
        out[i] = qd.get_addr(x, [i + begin])


@qd.kernel
def _addresses_2d(x: qd.template(), out: qd.types.ndarray(qd.u64, 2), row: qd.i32, column: qd.i32):
    for i, j in qd.ndrange(out.shape[0], out.shape[1]):
        out[i, j] = qd.get_addr(x, [i + row, j + column])


def addresses(field, begin: tuple[int, ...] | None = None) -> np.ndarray:
    """The address of every cell of a field of numbers, in bytes; `begin`: its first index, zeros when left out."""
    out = np.zeros(field.shape, np.uint64)
    begin = begin or (0,) * out.ndim
    (_addresses_1d if out.ndim == 1 else _addresses_2d)(field, out, *begin)
    return out


def row_major() -> dict:
    x = qd.field(qd.f32, shape=(4, 6))
    return {"x": addresses(x)}


def column_major() -> dict:
    x = qd.field(qd.f32, shape=(4, 6), order="ji")
    return {"x": addresses(x)}


def blocks() -> dict:
    x = qd.field(qd.f32)
    qd.root.dense(qd.ij, (2, 3)).dense(qd.ij, (2, 2)).place(x)
    return {"x": addresses(x)}


def array_of_structs() -> dict:
    v = qd.Vector.field(3, qd.f32, shape=6)
    return {f"v.{c}": addresses(v.get_scalar_field(k)) for k, c in enumerate("xyz")}


def struct_of_arrays() -> dict:
    v = qd.Vector.field(3, qd.f32, shape=6, layout=qd.Layout.SOA)
    return {f"v.{c}": addresses(v.get_scalar_field(k)) for k, c in enumerate("xyz")}


def side_by_side() -> dict:
    mass, charge = qd.field(qd.f32), qd.field(qd.f32)
    qd.root.dense(qd.i, 6).place(mass, charge)
    return {"mass": addresses(mass), "charge": addresses(charge)}


def offset() -> dict:
    x = qd.field(qd.f32, shape=(4, 6), offset=(-1, 10))
    return {"x": addresses(x, (-1, 10)), "begin": (-1, 10)}


LAYOUTS: dict[str, Callable[[], dict]] = {
    f.__name__: f for f in (row_major, column_major, blocks, array_of_structs, struct_of_arrays, side_by_side, offset)
}


def places(found: dict) -> dict[str, np.ndarray]:
    """Address -> number of the cell in memory, over all fields of a drawing; the holes between arrays are left out."""
    arrays = {name: array for name, array in found.items() if name != "begin"}
    order = np.sort(np.concatenate([array.ravel() for array in arrays.values()]))
    return {name: np.searchsorted(order, array) for name, array in arrays.items()}


def draw(name: str, path: Path) -> None:
    """Writes the drawing of a layout as SVG. Colours and numbers are the order in memory."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    found = LAYOUTS[name]()
    numbers = places(found)
    begin = found.get("begin", (0, 0))
    grids = [(label, np.atleast_2d(grid)) for label, grid in numbers.items()]
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9}):
        rows = [grid.shape[0] for _, grid in grids]
        figure, axes = pyplot.subplots(
            len(grids), 1, figsize=(3.4, 0.5 * sum(rows) + 0.5), squeeze=False, height_ratios=rows
        )
        most = max(grid.max() for _, grid in grids)
        for axis, (label, grid) in zip(axes[:, 0], grids):
            axis.imshow(grid, cmap="viridis", vmin=0, vmax=most * 1.25, aspect="auto")
            for (i, j), number in np.ndenumerate(grid):
                axis.text(
                    j, i, str(number), ha="center", va="center", color="white" if number < 0.6 * most else "black"
                )
            axis.set_xticks(range(grid.shape[1]), [str(j + begin[-1]) for j in range(grid.shape[1])])
            one = found[label].ndim == 1
            axis.set_yticks(
                [0] if one else range(grid.shape[0]),
                [label] if one else [str(i + begin[0]) for i in range(grid.shape[0])],
            )
            axis.set_xticks(np.arange(grid.shape[1]) + 0.5, minor=True)
            axis.set_yticks(np.arange(grid.shape[0]) + 0.5, minor=True)
            axis.grid(which="minor", color="white", linewidth=2)
            axis.tick_params(which="both", length=0)
            axis.spines[:].set_visible(False)
        figure.tight_layout(pad=0.3)
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
        pyplot.close(figure)


def draw_all(folder: Path) -> None:
    """Draws every layout. Starts a runtime, and ends it."""
    qd.init(arch=qd.cpu)
    for name in LAYOUTS:
        draw(name, folder / f"{name}.svg")
    qd.reset()


def draw_trace(trace: Path, path: Path) -> None:
    """Writes a picture of a file of `timeline_save`: a row for the host, a row for tasks, the time to the right."""
    import json

    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    events = json.loads(trace.read_text())
    begin = min(event["ts"] for event in events)
    tasks = sorted((e for e in events if e["cat"] == "task"), key=lambda e: e["ts"])
    last = tasks[-12:]  # when all is compiled
    figure, axes = pyplot.subplots(2, 1, figsize=(9, 4.4))
    rows = (("all of it", events, begin), ("the last launches", last, last[0]["ts"]))
    for axis, (title, shown, start) in zip(axes, rows):
        labels = list(dict.fromkeys(e["name"] for e in sorted(shown, key=lambda e: -e["dur"])))[:6]
        colours = dict(zip(labels, pyplot.cm.tab10.colors))
        for e in shown:
            row = 1 if e["cat"] == "host" else 0
            span = ((e["ts"] - start) / 1e3, max(e["dur"], 1e-3) / 1e3)
            axis.broken_barh(
                [span], (row + 0.1, 0.8), color=colours.get(e["name"], "grey"), edgecolor="white", linewidth=0.3
            )
        host = any(e["cat"] == "host" for e in shown)
        axis.set_yticks([0.5, 1.5][: 1 + host], ["tasks", "host"][: 1 + host])
        axis.set_ylim(0, 1 + host)
        axis.set_xlabel("ms")
        axis.set_title(title, loc="left")
        axis.legend(
            [pyplot.Rectangle((0, 0), 1, 1, color=colours[label]) for label in labels], labels,
            loc="upper left", bbox_to_anchor=(1.0, 1.05), frameon=False,
        )  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
