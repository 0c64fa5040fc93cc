"""The containers of the index sweep: how each is made, and how its elements are written in a kernel."""

from __future__ import annotations

from dataclasses import dataclass

_GRAD = "needs_grad=True"
_ND = "qd.types.ndarray()"
_VEC = "qd.types.vector(4, qd.f32)"


@dataclass(frozen=True)
class Container:
    """One container, swept along one axis.

    make: statements that make `A`, what holds the elements, and perhaps its neighbours in memory. access: an element,
    with {} in place of each index; indices: these, the swept one is `{e}`. shape: of `A` from outside. low: the first
    valid index in a kernel, which is element `skipped` of the axis; extent: how many are valid (0: all of the axis).
    parameters: (name, annotation, value) of what the kernel takes. head, tail: statements around the iterations, where
    one thread does them all.
    """

    name: str
    make: str
    access: str
    indices: tuple = ("{e}",)
    shape: tuple = (16,)
    low: int = 0
    extent: int = 0
    skipped: int = 0
    parameters: tuple = ()
    neighbours: tuple = ()
    head: tuple = ()
    tail: tuple = ()
    gradient: bool = True
    blocks: bool = False
    needs: str = ""

    @property
    def swept(self) -> int:
        """Which axis of `shape` the index goes along."""
        return self.indices.index("{e}")

    @property
    def valid(self) -> range:
        """The indices that there are."""
        return range(self.low, self.low + (self.extent or self.shape[self.swept]))

    def element(self, form: str) -> str:
        """The text of the element that `form` is the index of."""
        return self.access.format(*(text.format(e=form) for text in self.indices))


def _each(name: str, make: str, access: str, shape: tuple, fixed: tuple, **more) -> list:
    """The container swept along each of its axes; `fixed` are the indices along the others."""
    found = []
    for axis in range(len(shape)):
        indices = tuple("{e}" if k == axis else text for k, text in enumerate(fixed))
        found.append(Container(f"{name}, axis {axis}", make, access, indices, shape, **more))
    return found


def _plain() -> list:
    box = "\n\n\n@qd.data_oriented\nclass Box:\n    def __init__(self):\n        self.x = A\n\n\nbox = Box()"
    made = f"A = qd.field(qd.f32, 16, {_GRAD})"
    vectors = "A = qd.Vector.field(4, qd.f32, 16, layout=qd.Layout.{}, " + _GRAD + ")"
    matrices = f"A = qd.Matrix.field(4, 3, qd.f32, (5, 2), {_GRAD})"
    return [
        Container("field", made, "A[{}]"),
        Container("field of an object", made + box, "box.x[{}]"),
        *_each("2-d field", f"A = qd.field(qd.f32, (16, 5), {_GRAD})", "A[{}, {}]", (16, 5), ("i", "i % 5")),
        *_each(
            "3-d field",
            f"A = qd.field(qd.f32, (5, 16, 3), {_GRAD})",
            "A[{}, {}, {}]",
            (5, 16, 3),
            ("i % 5", "15 - i", "i % 3"),
        ),
        *_each("vector field", vectors.format("AOS"), "A[{}][{}]", (16, 4), ("15 - i", "i % 4")),
        *_each("vector field, SoA", vectors.format("SOA"), "A[{}][{}]", (16, 4), ("i", "i % 4")),
        *_each("matrix field", matrices, "A[{}, {}][{}, {}]", (5, 2, 4, 3), ("i % 5", "i % 2", "i % 4", "i % 3")),
    ]


_STRUCT = """
S = qd.Struct.field({{"a": qd.f32, "v": qd.types.vector(4, qd.f32), "m": qd.types.matrix(4, 4, qd.f32)}}, shape=16,
    layout=qd.Layout.{layout}, needs_grad=True)
A = S.{member}
"""
_MEMBERS = (
    ("a", "S[{}].a", (16,), ("i",)),
    ("v", "S[{}].v[{}]", (16, 4), ("i", "1")),
    ("m", "S[{}].m[{}, {}]", (16, 4, 4), ("15 - i", "2", "3")),
)
_PLACED = """
a = qd.field(qd.f32)
v = qd.Vector.field(4, qd.f32)
b = qd.field(qd.i32)
qd.root.dense(qd.i, 4).dense(qd.i, 4).place(a, v, b)
qd.root.lazy_grad()
"""


def _shared_cells() -> list:
    found = [
        Container("scalar placed with others", _PLACED + "A = a", "A[{}]", neighbours=("v", "b")),
        *_each(
            "vector placed with others", _PLACED + "A = v", "A[{}][{}]", (16, 4), ("i", "i % 4"), neighbours=("a", "b")
        ),
    ]
    for layout in ("AOS", "SOA"):
        for member, access, shape, fixed in _MEMBERS:
            others = tuple(f"S.{x}" for x, *_ in _MEMBERS if x != member)
            made = _STRUCT.format(layout=layout, member=member)
            found += _each(f"{layout} member {member}", made, access, shape, fixed, neighbours=others)
    return found


_BLOCKS = (
    ("4 of 4", "dense(qd.i, 4).dense(qd.i, 4)", (16,), ("i",)),
    ("2 of 4 of 2", "dense(qd.i, 2).dense(qd.i, 4).dense(qd.i, 2)", (16,), ("i",)),
    ("3 of 5", "dense(qd.i, 3).dense(qd.i, 5)", (15,), ("i",)),
    ("4 of 4, 2 of 3", "dense(qd.ij, (4, 2)).dense(qd.ij, (4, 3))", (16, 6), ("i", "i % 6")),
    ("columns of rows", "dense(qd.j, 6).dense(qd.i, 16)", (16, 6), ("15 - i", "i % 6")),
    ("rows of tiles", "dense(qd.i, 4).dense(qd.ij, (4, 6))", (16, 6), ("i", "5 - i % 6")),
    ("3-d", "dense(qd.ijk, (2, 3, 4)).dense(qd.i, 8)", (16, 3, 4), ("i", "i % 3", "i % 4")),
)


def _blocked() -> list:
    tree = "qd.root.{levels}.place({what})\nqd.root.lazy_grad()"
    found = []
    for name, levels, shape, fixed in _BLOCKS:
        made = "A = qd.field(qd.f32)\n" + tree.format(levels=levels, what="A")
        found += _each(f"blocked {name}", made, f"A[{', '.join(['{}'] * len(shape))}]", shape, fixed)
    levels = _BLOCKS[0][1]
    made = "A = qd.Vector.field(4, qd.f32)\n" + tree.format(levels=levels, what="A")
    found += _each("blocked vectors", made, "A[{}][{}]", (16, 4), ("i", "i & 3"))
    for low in (-3, 2):
        made = "A = qd.field(qd.f32)\n" + tree.format(levels=levels, what=f"A, offset={low}")
        found.append(Container(f"blocked, offset {low}", made, "A[{}]", low=low))
    return found


def _ordered() -> list:
    two = f"A = qd.field(qd.f32, (16, 5), order='ji', {_GRAD})"
    three = f"A = qd.field(qd.f32, (4, 16, 3), order='kij', {_GRAD})"
    both = f"A = qd.field(qd.f32, (16, 16), offset=(-3, 0), order='ji', {_GRAD})"
    return [
        *_each("permuted 2-d", two, "A[{}, {}]", (16, 5), ("i", "4 - i % 5")),
        *_each("permuted 3-d", three, "A[{}, {}, {}]", (4, 16, 3), ("i % 4", "i", "i % 3")),
        *(Container(f"offset {x}", f"A = qd.field(qd.f32, 16, offset={x}, {_GRAD})", "A[{}]", low=x) for x in (-3, 2)),
        Container("offset and permuted", both, "A[{}, {}]", ("{e}", "i"), (16, 16), low=-3),
    ]


def _takes(value: str = "A", annotation: str = _ND) -> tuple:
    return (("A", annotation, value),)


_STATE = f"""
import dataclasses

A = qd.ndarray(qd.f32, 16, {_GRAD})


@dataclasses.dataclass
class State:
    x: qd.types.NDArray[qd.f32, 1]
"""


def _arguments() -> list:
    vectors = f"A = qd.Vector.ndarray(4, qd.f32, 16, {_GRAD})"
    matrices = f"A = qd.Matrix.ndarray(3, 4, qd.f32, 16, {_GRAD})"
    three = f"A = qd.ndarray(qd.f32, (5, 16, 3), {_GRAD})"
    flat, plane = (("i", "i % 5"), {"parameters": _takes()}), "A[{}, {}]"
    found = [
        Container("ndarray", f"A = qd.ndarray(qd.f32, 16, {_GRAD})", "A[{}]", parameters=_takes()),
        *_each("2-d ndarray", f"A = qd.ndarray(qd.f32, (16, 5), {_GRAD})", plane, (16, 5), flat[0], **flat[1]),
        *_each("3-d ndarray", three, "A[{}, {}, {}]", (5, 16, 3), ("i % 5", "i", "i % 3"), **flat[1]),
        *_each("vector ndarray", vectors, "A[{}][{}]", (16, 4), ("i", "i % 4"), **flat[1]),
        *_each("matrix ndarray", matrices, "A[{}][{}, {}]", (16, 3, 4), ("i", "i % 3", "1"), **flat[1]),
        Container("member of a dataclass", _STATE, "s.x[{}]", parameters=(("s", "State", "State(x=A)"),)),
    ]
    for backend in ("NDARRAY", "FIELD"):
        made = f"A = qd.tensor(qd.f32, (16, 5), layout=(1, 0), backend=qd.Backend.{backend}, {_GRAD})"
        takes = _takes(annotation="qd.Tensor")
        found += _each(f"tensor with a layout, {backend}", made, plane, (16, 5), flat[0], parameters=takes)
    return found


def _views() -> list:
    made = "A = qd.ndarray(qd.f32, 24)"
    view = {"shape": (24,), "gradient": False, "parameters": (("V", "qd.BufferView[qd.f32]", "A[0:24]"),)}
    part = {**view, "parameters": (("V", "qd.BufferView[qd.f32]", "A[2:24]"),)}
    return [
        Container("view", made, "V[{}]", **view),
        Container("view, shifted", made, "V[{}]", extent=22, skipped=2, **part),
        Container("window of a view", made, "V[4:20][{}]", extent=16, skipped=4, **view),
    ]


def _foreign() -> list:
    more = {"parameters": _takes(), "gradient": False}
    vectors = {**more, "parameters": _takes(annotation=f"qd.types.ndarray(dtype={_VEC}, ndim=1)")}
    torch = {"parameters": _takes(), "needs": "torch"}
    tensor = "import torch\n\nA = torch.zeros({}, requires_grad=True)"
    return [
        Container("NumPy", "A = np.zeros(16, np.float32)", "A[{}]", **more),
        *_each("NumPy 2-d", "A = np.zeros((16, 5), np.float32)", "A[{}, {}]", (16, 5), ("i", "i % 5"), **more),
        *_each(
            "NumPy of vectors", "A = np.zeros((16, 4), np.float32)", "A[{}][{}]", (16, 4), ("i", "i % 4"), **vectors
        ),
        Container("torch", tensor.format(16), "A[{}]", **torch),
        *_each("torch 2-d", tensor.format((16, 5)), "A[{}, {}]", (16, 5), ("i", "i % 5"), **torch),
    ]


def _in_a_kernel() -> list:
    """Elements live in a variable of one thread, or of one block: copied from `A`, and back behind the iterations."""
    made = f"A = qd.field(qd.f32, 4, {_GRAD})"
    grid = f"A = qd.field(qd.f32, (2, 4), {_GRAD})"
    loop = "    for i in range(steps):"
    vector = ("for _ in range(1):", "    w = qd.Vector([A[0], A[1], A[2], A[3]])", loop)
    matrix = ("for _ in range(1):", "    w = qd.Matrix([[A[r, c] for c in range(4)] for r in range(2)])", loop)
    struct = (vector[0], "    w = qd.Struct(a=1.0, v=qd.Vector([A[0], A[1], A[2], A[3]]))", loop)
    block = "qd.simt.block."
    shared = (
        "qd.loop_config(block_dim=32)", "for t in range(32):", f"    w = {block}SharedArray((16,), qd.f32)",
        "    if t < 16:", "        w[t] = A[t]", f"    {block}sync()", "    for i in range(steps if t == 0 else 0):",
    )  # fmt: skip
    vectors = (
        "qd.loop_config(block_dim=32)", "for t in range(32):", f"    w = {block}SharedArray((16,), {_VEC})",
        "    if t < 16:", "        w[t] = A[t]", f"    {block}sync()", "    for i in range(steps if t == 0 else 0):",
    )  # fmt: skip
    back = (f"    {block}sync()", "    if t < 16:", "        A[t] = w[t]")
    each = ("    for c in qd.static(range(4)):", "        A[c] = w[c]")
    cells = ("    for r, c in qd.static(qd.ndrange(2, 4)):", "        A[r, c] = w[r, c]")
    member = ("    for c in qd.static(range(4)):", "        A[c] = w.v[c]")
    field, many = "A = qd.field(qd.f32, 16)", "A = qd.Vector.field(4, qd.f32, 16)"
    on = {"gradient": False, "blocks": True, "tail": back}
    return [
        Container("vector variable", made, "w[{}]", shape=(4,), head=vector, tail=each),
        *_each("matrix variable", grid, "w[{}, {}]", (2, 4), ("i % 2", "i % 4"), head=matrix, tail=cells),
        Container("member of a struct variable", made, "w.v[{}]", shape=(4,), head=struct, tail=member),
        Container("shared array", field, "w[{}]", head=shared, **on),
        *_each("shared array of vectors", many, "w[{}][{}]", (16, 4), ("i", "i % 4"), head=vectors, **on),
    ]


CONTAINERS: list[Container] = [
    *_plain(), *_shared_cells(), *_blocked(), *_ordered(), *_arguments(), *_views(), *_foreign(), *_in_a_kernel(),
]  # fmt: skip
