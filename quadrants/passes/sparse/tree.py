"""The arrays and functions by which one kernel works on sparse trees, made when something asks for them.

qd_find_P(c..)        container of a cell of P, 0 where there is none
qd_activate_N(c..)    makes a cell of N and all around it active; the container that it is in
qd_deactivate_N(c..)  makes it inactive; containers go to the list of those freed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quadrants.ir import nodes as n
from quadrants.ir.sparse import Memory, Pool, SparseNode, axes_above, container_of, path
from quadrants.ir.types import i32, u1, u32
from quadrants.passes.sparse.build import Body, at, binary, both, compare, const, got, joined, load, part

Coords = Sequence[n.Expr]


class Tree:
    """Declarations and functions of a module."""

    def __init__(self, module: n.Module) -> None:
        self.module = module
        self._arrays: dict[tuple[int, int, int], n.ArrayDecl] = {}
        self._functions: dict[tuple[str, int], n.Function] = {}
        self._sites: dict[int, int] = {}
        self._kept: list[object] = []
        self.names: dict[str, int] = {}

    # ------------------------------------------------------------ arrays

    def array(self, memory: Memory, name: str) -> n.ArrayDecl:
        """The declaration of a part of a container, or of a list of a pool."""
        key = (id(memory.tree), memory.offset, len(memory.levels))
        found = self._arrays.get(key)
        if found is None:
            self._kept.append(memory)
            found = n.ArrayDecl(
                name=self.unique(f"qd_{name}"), kind="field", type=i32, ndim=len(memory.levels), shape=memory.shape,
                levels=tuple((axis, extent, divisor, stride // 4) for axis, extent, divisor, stride in memory.levels),
                source=memory, label=name, number=max((d.number for d in self.module.arrays), default=-1) + 1,
            )  # fmt: skip
            self.module.arrays.append(found)
            self._arrays[key] = found
        return found

    def unique(self, name: str) -> str:
        k = self.names[name] = self.names.get(name, -1) + 1
        return f"{name}_{k}" if k else name

    def counter(self, pool: Pool, which: int) -> n.Cell:
        return at(self.array(pool.lists["counters"], f"{pool.name}_counters"), const(which))

    def entry(self, pool: Pool, name: str, *indices: n.Expr) -> n.Cell:
        return at(self.array(pool.lists[name], f"{pool.name}_{name}"), *indices)

    def header(self, node: SparseNode, container: n.Expr | None, digits: Coords, entry: n.Expr) -> n.Cell:
        word = {"pointer": "slots", "bitmasked": "bits", "dynamic": "length"}[node.kind]
        first = () if node.holder is None else (container,)
        return at(self.array(node.header, f"{node.name}_{word}"), *first, *digits, entry)

    def header_of(self, node: SparseNode, coords: Coords, container: n.Expr | None = None) -> n.Cell:
        """The slot, word or length of a cell; of an inactive container the zero in its place."""
        digits = [part(coords, k, divisor, extent) for k, divisor, extent in node.digits]
        if node.holder is not None and container is None:
            container = self.find(node.holder, above(node, coords, node.holder))
        return self.header(node, container, digits, self.number(node, coords))

    def number(self, node: SparseNode, coords: Coords) -> n.Expr:
        """Which entry of its header a cell has."""
        if node.kind == "dynamic":
            return const(0)
        number = self.lin(node, coords)
        return part((number,), 0, 32, 0) if node.kind == "bitmasked" else number

    @staticmethod
    def lin(node: SparseNode, coords: Coords) -> n.Expr:
        """The number of a cell among those around which there is one container or header."""
        top = {k: extent == node.shape[k] for k, extent in node.own}
        return joined([(part(coords, k, 1, 0 if top[k] else extent), extent) for k, extent in node.own])

    def bit(self, node: SparseNode, coords: Coords) -> n.Expr:
        """The bit of a cell of a bitmasked node in its word."""
        return binary("shl", const(1), part((self.lin(node, coords),), 0, 1, 32))

    # ------------------------------------------------------------ questions

    def find(self, node: SparseNode, coords: Coords) -> n.Expr:
        """The container of a cell of a pointer node, 0 where it is not active."""
        return n.Call(self.function("find", node, _find_function), tuple(coords), i32)

    def holder(self, node: SparseNode | None, coords: Coords) -> n.Expr | None:
        """The container that a cell of any sparse node is in; None for the root's."""
        found = container_of(node)
        if found is None or node is None:
            return None
        return self.find(found, above(node, coords, found))

    def is_active(self, node: SparseNode, coords: Coords, container: n.Expr | None = None) -> n.Expr:
        """Whether a cell is active. container: of the header, where that is known."""
        found = got(self.header_of(node, coords, container))
        if node.kind == "pointer":
            return compare("gt", found, const(0))
        if node.kind == "bitmasked":
            return compare("ne", binary("bit_and", found, self.bit(node, coords)), const(0))
        return compare("lt", coords[node.own[0][0]], binary("min", found, const(node.most)))

    # ------------------------------------------------------------ functions

    def function(self, verb: str, node: SparseNode, make: Callable[[Tree, SparseNode], n.Function]) -> n.Function:
        key = (verb, id(node))
        if key not in self._functions:
            self._kept.append(node)
            found = make(self, node)
            found.name = self.unique(f"qd_{verb}_{node.name}")
            self._functions[key] = found
            # In front of those that may call it, and behind those that it calls: some languages want it so.
            self.module.functions.insert(len(self._functions) - 1, found)
        return self._functions[key]

    def function_of(self, verb: str, node: SparseNode) -> n.Function:
        return self._functions[verb, id(node)]

    def note_written(self) -> None:
        """What says which cells are active counts as written where the kernel may change that."""
        if any(verb != "find" for verb, _ in self._functions):
            known = {id(decl) for decl in self.module.written}
            self.module.written += [d for d in self._arrays.values() if id(d) not in known]

    def made(self, verb: str) -> list[SparseNode]:
        """The nodes for which there is a function of that verb."""
        return [node for node in self._kept if isinstance(node, SparseNode) and (verb, id(node)) in self._functions]

    def pools(self) -> tuple[Pool, ...]:
        """The pools of the trees that the kernel uses."""
        found: dict[int, Pool] = {}
        nodes = [decl.within.node for decl in self.module.arrays if decl.within is not None]
        for node in [*nodes, *(x for x in self._kept if isinstance(x, SparseNode))]:
            for one in path(node):
                if one.pool is not None:
                    found[id(one.pool)] = one.pool
        return tuple(found.values())

    def memory_site(self, pool: Pool) -> int:
        """The number of the message when a pool has no more room."""
        if id(pool) not in self._sites:
            self._sites[id(pool)] = len(self.module.sites)
            self.module.sites.append((("sparse memory", pool.name, pool.stride), [], self.module.name))
        return self._sites[id(pool)]


def above(node: SparseNode, coords: Coords, target: SparseNode) -> list[n.Expr]:
    """Coordinates of the cell of `target` around a cell of `node`."""
    return [part(coords, k, divisor, 0) for k, divisor in axes_above(node, target)]


def within_shape(node: SparseNode, coords: Coords) -> n.Expr:
    """Whether there is such a cell: an index that is outside must not lead to a slot that is none."""
    cond = None
    for c, extent in zip(coords, node.shape):
        inside = n.Binary("lt", n.Cast(c, u32), n.Const(extent, u32), u1)
        cond = both(cond, inside)
    assert cond is not None
    return cond


def variables(count: int) -> list[n.Var]:
    return [n.Var(f"c{k}", i32, False, level=1) for k in range(count)]


def loads(params: Sequence[n.Var]) -> list[n.Expr]:
    return [load(v) for v in params]


def _find_function(tree: Tree, node: SparseNode) -> n.Function:
    params = variables(len(node.axes))
    body = Body()
    slot = binary("max", got(tree.header_of(node, loads(params))), const(0))
    body.back(n.Select(within_shape(node, loads(params)), slot, const(0), i32))
    doc = "The container of a cell, 0 where it is not active, or where there is none."
    return n.Function("", params, body.statements, (i32,), pure=True, doc=doc)
