"""Expressions, and the places that some of them name."""

from __future__ import annotations

import ast

import numpy as np

from .containers import Field, StructField, View
from .errors import Refused, Undefined, Unmodelled
from .memory import tracker
from .names import spelled
from .numbers import Defaults, Num, convert, i32, literal, promote, wrap
from .operations import binary, unary
from .places import Memory, Place, Several, Value
from .values import Struct, Tensor, copied, is_constant, letters

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.Invert: "~", ast.Not: "not", ast.UAdd: "+"}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Expressions:
    def eval(self, node):
        """The value of an expression: a Num, Tensor, Struct, a Python constant, or any object."""
        return getattr(self, "eval_" + type(node).__name__)(node)

    def eval_Constant(self, node):
        return node.value

    def eval_Name(self, node):
        found = self.find(node.id)
        return self.loaded(found)

    def loaded(self, found):
        if isinstance(found, Place):
            return copied(found.load())
        return found.item() if isinstance(found, np.number) else found

    def eval_Tuple(self, node):
        return tuple(self.eval_List(node))

    def eval_Dict(self, node):
        return {self.eval(k): self.eval(v) for k, v in zip(node.keys, node.values)}

    def eval_List(self, node):
        return self.items(node.elts)

    def items(self, nodes) -> list:
        """The values of arguments, or of the elements of a list; what has a star is taken apart."""
        out: list = []
        for e in nodes:
            if isinstance(e, ast.Starred):
                out += self.sequence(self.eval(e.value))
            else:
                out.append(self.eval(e))
        return out

    def eval_ListComp(self, node):
        (generator,) = node.generators
        out = []
        for item in self.sequence(self.eval(generator.iter)):
            self.scopes.append({generator.target.id: item})
            out.append(self.eval(node.elt))
            self.scopes.pop()
        return out

    @staticmethod
    def sequence(x):
        return x.rows() if isinstance(x, Tensor) else list(x)

    def eval_BinOp(self, node):
        a = self.eval(node.left)
        b = self.eval(node.right)
        return self.guarded(binary, BINARY[type(node.op)], a, b)

    def eval_UnaryOp(self, node):
        x = self.eval(node.operand)
        return unary(UNARY[type(node.op)], x)

    def eval_NamedExpr(self, node):
        value = self.eval(node.value)
        self.assign(ast.Name(node.target.id), value)
        return value

    def guarded(self, fn, *operands):
        """`fn` of operands; where only the type counts, of ones."""
        if not self.dry:
            return fn(*operands)
        try:
            return fn(*operands)
        except Undefined:
            return fn(*(ones(x) for x in operands))

    def eval_Compare(self, node):
        left = self.eval(node.left)
        result = None
        for op, right in zip(node.ops, node.comparators):
            if isinstance(result, Num) and not result.value and not self.dry:
                return result
            right = self.eval(right)
            step = self.guarded(binary, COMPARE[type(op)], left, right)
            result = step if result is None else binary("&", result, step)
            left = right
        return result

    def eval_BoolOp(self, node):
        """Values as in Python, in the common type of all; the right side only where it decides."""
        want = isinstance(node.op, ast.Or)
        value = self.eval(node.values[0])
        if isinstance(value, Tensor):
            return self.bool_op_of_tensors(node, value, want)
        dtypes = [None if is_constant(value) else value.dtype]
        decided = self.truth(value) == want
        for operand in node.values[1:]:
            if decided:
                dtypes.append(self.type_only(operand))
                continue
            value = self.eval(operand)
            dtypes.append(literal(value).dtype)
            decided = self.truth(value) == want
        if all(t is None for t in dtypes):
            return value
        common = literal(value).dtype
        for t in dtypes:
            common = promote(common, t) if t is not None else common
        if common.real:
            raise Unmodelled("`and` of reals")
        return convert(literal(value), common)

    def bool_op_of_tensors(self, node, value, want):
        for operand in node.values[1:]:
            other = self.eval(operand)
            value = binary("|" if want else "&", binary("!=", value, 0), binary("!=", other, 0))
        return value

    def type_only(self, node):
        """The dtype of an expression that is not evaluated, None for a literal."""
        x = self.dry_value(node)
        return literal(x).dtype

    def dry_value(self, node):
        ordered = tracker.ordered
        marks, tracker.marks = tracker.marks, None
        checks = Defaults.debug, Defaults.checked
        Defaults.debug = Defaults.checked = False  # nothing stops what is not run
        self.dry += 1
        try:
            return self.eval(node)
        finally:
            self.dry -= 1
            Defaults.debug, Defaults.checked = checks
            tracker.marks, tracker.ordered = marks, ordered

    def eval_IfExp(self, node):
        test = self.eval(node.test)
        static = spelled(node.test) == "qd.static"
        chosen, other = (node.body, node.orelse) if self.truth(test) else (node.orelse, node.body)
        value = self.eval(chosen)
        if static:
            return value
        unused = self.dry_value(other)
        return self.common(value, unused)

    @staticmethod
    def common(value, unused):
        if isinstance(value, Tensor):
            return value.cast(promote(value.dtype, unused.dtype))
        value = literal(value)
        return convert(value, promote(value.dtype, literal(unused).dtype))

    def eval_JoinedStr(self, node):
        return self.printed(node)

    # ------------------------------------------------------------ places

    def eval_Subscript(self, node):
        base = self.eval_base(node.value)
        if isinstance(base, dict):
            return self.loaded(base[self.eval(node.slice)])
        if isinstance(base, (list, tuple)):
            k = self.eval(node.slice)
            found = base[k if is_constant(k) or isinstance(k, slice) else literal(k).value]
            return self.loaded(found)
        if isinstance(base, View) and isinstance(node.slice, ast.Slice):
            return base.subview(*self.view_bounds(base, node.slice))
        if isinstance(base, (Field, StructField, View, Place, Tensor, Num)):
            place = self.place_in(base, node)
            return copied(place.load())
        return base[self.eval(node.slice)]

    def view_bounds(self, base, s):
        start = literal(self.eval(s.lower)).value if s.lower else 0
        stop = literal(self.eval(s.upper)).value if s.upper else base.size
        return start, stop - start

    def eval_base(self, node):
        """What a subscript or attribute is taken of: a place if it is one."""
        if isinstance(node, ast.Name):
            return self.find(node.id)
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return self.place_or_object(node)
        return self.eval(node)

    def place_or_object(self, node):
        base = self.eval_base(node.value)
        if isinstance(node, ast.Attribute):
            return self.attribute(base, node.attr)
        if (
            isinstance(base, (Field, StructField, Place, Tensor))
            or isinstance(base, View)
            and not isinstance(node.slice, ast.Slice)
        ):
            return self.place_in(base, node)
        if isinstance(base, View):
            return base.subview(*self.view_bounds(base, node.slice))
        return base[self.eval(node.slice)]

    def attribute(self, base, name: str):
        if isinstance(base, StructField):
            return base.members[name] if name in base.members else getattr(base, name)
        if isinstance(base, Place):
            return self.member_of(base, name)
        if isinstance(base, (Tensor, Struct)):
            return self.member_of(Value(base), name)
        if isinstance(base, Field) and name == "shape":
            return base.shape
        return getattr(base, name)

    def member_of(self, place: Place, name: str):
        type_ = place.type
        if hasattr(type_, "members"):
            if name in type_.members:
                return place.member(name)
            if name in type_.methods:
                return ("method", place, type_.methods[name])
            raise Unmodelled(f"no member {name}")
        shape = getattr(type_, "shape", None)
        if shape is not None and len(shape) == 1 and letters(name, shape[0]):
            return place.member(name)
        if name in ("n", "m") and shape is not None:
            return shape[0 if name == "n" else 1]
        return ("tensor method", place, name)

    def eval_Attribute(self, node):
        base = self.eval_base(node.value)
        found = self.attribute(base, node.attr)
        return self.loaded(found)

    def place(self, node) -> Place:
        """The place that a target, or an argument bound by reference, names."""
        if isinstance(node, ast.Name):
            found = self.find(node.id)
            if not isinstance(found, Place):
                raise Unmodelled(f"{node.id} is no place")
            return found
        if isinstance(node, ast.Attribute):
            found = self.attribute(self.eval_base(node.value), node.attr)
        elif isinstance(node, ast.Subscript):
            base = self.eval_base(node.value)
            if isinstance(base, (list, tuple)):
                found = base[self.eval(node.slice)]
            else:
                found = self.place_in(base, node)
        else:
            raise Unmodelled("an expression that is no place")
        if not isinstance(found, Place):
            raise Unmodelled("something that is no place")
        return found

    def place_in(self, base, node) -> Place:
        key = self.key(node.slice)
        if not _clamps(base):
            key = tuple(k if isinstance(k, slice) else as_i32(k) for k in key)
        moved = isinstance(base, (Field, StructField)) and any(base.offset)
        if not moved and _has_negative_literal(node.slice):
            raise Unmodelled("a literal below zero as an index")
        if isinstance(base, (Tensor, Num)):
            base = Value(base)
        if isinstance(base, Place):
            if any(isinstance(k, slice) for k in key):
                return self.sliced(base, key)
            return base.element(self.component(base, key))
        if not isinstance(base, (Field, StructField, View)):
            raise Unmodelled("a subscript of something else")
        try:
            return base.place(key)
        except Undefined:
            if not self.dry:
                raise
            return next(iter([base.place(tuple(next(iter(base.indices()))))]))

    def component(self, base: Place, key: tuple) -> tuple:
        if self.dry:
            return tuple(k if 0 <= k < n else 0 for k, n in zip(key, base.type.shape))
        return key

    def sliced(self, base: Place, key: tuple) -> Several:
        shape = base.type.shape
        ranges = [range(n)[k] if isinstance(k, slice) else k for k, n in zip(key, shape)]
        out_shape = tuple(len(r) for r in ranges if isinstance(r, range))
        rows = [(k,) for k in as_range(ranges[0])]
        if len(ranges) == 2:
            rows = [(i, k) for (i,) in rows for k in as_range(ranges[1])]
        return Several([base.element(row) for row in rows], out_shape)

    def key(self, node) -> tuple:
        """Indices of a subscript as Python ints and slices; vectors are spread."""
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        out: list = []
        for part in parts:
            if isinstance(part, ast.Slice):
                out.append(
                    slice(*(None if x is None else int(self.eval(x)) for x in (part.lower, part.upper, part.step)))
                )
                continue
            value = self.eval(part)
            if value is None or value == ():
                continue
            values = (
                value.items if isinstance(value, Tensor) else value if isinstance(value, (list, tuple)) else [value]
            )
            out += [self.index(x) for x in values]
        return tuple(out)

    @staticmethod
    def index(x) -> int:
        x = literal(x)
        if x.dtype.real:
            raise Unmodelled("a real index")
        return x.value

    # ------------------------------------------------------------ calls

    def eval_Call(self, node):
        from .calls import call

        return call(self, node)


def _clamps(base) -> bool:
    """Whether what is indexed limits indices, which it does by their value."""
    return getattr(base.field if isinstance(base, Memory) else base, "clamped", False)


def as_i32(index: int) -> int:
    """What is left of an index in 32 bits."""
    kept = wrap(index, i32)
    if Defaults.checked and kept != index:
        raise Refused("an index that debug mode refuses")
    return kept


def _has_negative_literal(node) -> bool:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return any(isinstance(p, ast.UnaryOp) and isinstance(p.operand, ast.Constant) for p in parts)


def as_range(r):
    return r if isinstance(r, range) else [r]


def ones(x):
    if isinstance(x, Num):
        return Num(x.dtype, 1.0 if x.dtype.real else 1)
    return Tensor(x.shape, [ones(e) for e in x.items]) if isinstance(x, Tensor) else x
