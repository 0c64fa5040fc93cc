"""Kernels and funcs of a program as objects, and how arguments get into them."""

from __future__ import annotations

import ast
import dataclasses
import types

import numpy as np

from .containers import External, Field
from .errors import Undefined, Unmodelled
from .evaluate import Break, Continue, Evaluator, Return
from .names import check as check_names
from .numbers import DType, Num, literal, rounded, wrap
from .operations import scalar_type
from .places import Place, Value, Variable
from .values import Struct, StructType, Tensor, TensorType, copied, initial, is_constant

SCALARS = (int, float, bool)


class Template:
    """`qd.template()`."""


class Ref:
    """`qd.ref(dtype)`."""

    def __init__(self, dtype):
        self.dtype = dtype


class ArrayAnnotation:
    """`qd.types.ndarray(...)`."""

    def __init__(self, dtype=None, ndim=None, **options):
        self.element_shape = dtype.shape if isinstance(dtype, TensorType) else ()
        self.boundary = options.get("boundary", "unsafe")

    def __getitem__(self, item):
        return ArrayAnnotation(item[0] if isinstance(item, tuple) else item)


class ViewAnnotation:
    """`qd.BufferView[dtype]`."""


class Program:
    """Syntax trees of the functions of the program that is run, by the line they start at."""

    trees: dict = {}

    @classmethod
    def read(cls, tree: ast.Module) -> None:
        cls.trees = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                cls.trees[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node


class Function:
    """What is decorated. `invoke`: a call in a kernel."""

    def __init__(self, fn, recursive: bool = False):
        self.fn, self.recursive = fn, recursive
        self.tree = Program.trees[fn.__code__.co_firstlineno]
        self.annotations = fn.__annotations__
        self.checked = False

    def outer(self) -> dict:
        names = self._names()
        if not self.checked:
            check_names(self.tree, names)
            self.checked = True
        return names

    def _names(self) -> dict:
        cells = dict(zip(self.fn.__code__.co_freevars, (c.cell_contents for c in self.fn.__closure__ or ())))
        return {**self.fn.__globals__, **cells}

    @property
    def parameters(self) -> list:
        return [a.arg for a in self.tree.args.args]

    def run(self, names: dict, top: bool):
        ev = Evaluator(self.outer(), names, top, self.recursive)
        try:
            ev.block(self.tree.body, scoped=False)
        except Return as r:
            return r.value
        except (Break, Continue):
            raise Unmodelled("a break outside of a loop") from None
        return None


class Func(Function):
    def __get__(self, obj, owner=None):
        return self if obj is None else BoundFunc(self, obj)

    def invoke(self, ev, node: ast.Call, receiver=None):
        names: dict = {}
        parameters = self.parameters
        if receiver is not None:
            names[parameters[0]] = receiver
            parameters = parameters[1:]
        given = list(zip(parameters, node.args)) + [(k.arg, k.value) for k in node.keywords]
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise Unmodelled("a starred argument of a func")
        for name, arg in given:
            names[name] = self.argument(ev, self.annotations.get(name), arg)
        for name, default in zip(reversed(self.parameters), reversed(self.tree.args.defaults)):
            names.setdefault(name, Variable(literal(ast.literal_eval(default))))
        if len(names) != len(self.parameters):
            raise Unmodelled("the number of arguments")
        top = ev.top and not self.recursive
        result = self.enter(ev, names, top)
        return self.converted(result)

    def enter(self, ev, names: dict, top: bool):
        inner = Evaluator(self.outer(), names, top, self.recursive)
        inner.dry = ev.dry
        Depth.value += 1
        if Depth.value > (4 if ev.dry else 40):
            Depth.value -= 1
            raise Undefined("recursion that is too deep")
        try:
            inner.block(self.tree.body, scoped=False)
        except Return as r:
            return r.value
        finally:
            Depth.value -= 1
        return None

    def argument(self, ev, annotation, node):
        if annotation is Template or isinstance(annotation, Template):
            return self.by_reference(ev, node)
        if isinstance(annotation, Ref):
            return ev.place(node)
        value = ev.eval(node)
        if annotation is None:
            if is_constant(value):
                value = literal(value)
            return Variable(copied(value)) if isinstance(value, (Num, Tensor, Struct)) else value
        if isinstance(annotation, (DType, StructType, TensorType)) or annotation in SCALARS:
            return Variable(converted_argument(annotation, value))
        return value

    @classmethod
    def by_reference(cls, ev, node):
        if isinstance(node, (ast.List, ast.Tuple)):
            return cls.listed(ev, node)
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.List) and isinstance(node.right, ast.List):
            return [*cls.listed(ev, node.left), *cls.listed(ev, node.right)]
        if isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)):
            found = ev.eval_base(node) if isinstance(node, ast.Name) else ev.place_or_object(node)
            if isinstance(found, Place):
                return found
        value = ev.eval(node)
        return Value(value) if isinstance(value, (Num, Tensor, Struct)) else value

    @classmethod
    def listed(cls, ev, node) -> list:
        """What is written out for a template: variables and elements stand for themselves."""
        out: list = []
        for e in node.elts:
            if isinstance(e, ast.Starred) and isinstance(e.value, ast.List):
                out += cls.listed(ev, e.value)
            elif isinstance(e, ast.Starred):
                raise Unmodelled("a starred item of a template")
            else:
                out.append(cls.by_reference(ev, e))
        return out

    def converted(self, result):
        annotation = self.annotations.get("return")
        if annotation is None or result is None:
            return result
        parts = result_types(annotation)
        if parts is not None:
            return tuple(converted_result(t, x) for t, x in zip(parts, result))
        return converted_result(annotation, result)


def converted_result(annotation, x):
    return initial(annotation, x) if isinstance(annotation, (DType, *(type,))) or annotation in SCALARS else x


def converted_argument(annotation, value):
    if isinstance(annotation, TensorType) and annotation.dtype is None:
        return copied(value)
    return initial(annotation, value)


class Depth:
    value = 0


class BoundFunc:
    def __init__(self, func: Func, obj):
        self.func, self.obj = func, obj

    def invoke(self, ev, node):
        return self.func.invoke(ev, node, receiver=self.obj)


class Kernel(Function):
    """Called from Python."""

    def __get__(self, obj, owner=None):
        return self if obj is None else types.MethodType(self, obj)

    def __call__(self, *args):
        names, external = {}, []
        for name, arg in zip(self.parameters, args):
            if name not in self.annotations:
                names[name] = Lifted(arg) if getattr(type(arg), "numbers_at_run_time", False) else arg
                continue
            names[name] = bound(self.annotations[name], arg, external)
        if len(args) != len(self.parameters):
            raise Unmodelled("the number of arguments")
        result = self.run(names, True)
        for e in external:
            e.write_back()
        annotation = self.annotations.get("return")
        if annotation is None:
            return None
        parts = result_types(annotation)
        if parts is not None:
            return tuple(to_python(initial(t, x)) for t, x in zip(parts, result))
        return to_python(initial(annotation, result))


def result_types(annotation) -> tuple | None:
    if isinstance(annotation, types.GenericAlias):
        return annotation.__args__
    return annotation if isinstance(annotation, tuple) else None


def bound(annotation, arg, external: list):
    """An argument of a kernel as a name in it."""
    if isinstance(annotation, DType) or annotation in SCALARS:
        return Value(scalar_argument(scalar_type(annotation), arg))
    if isinstance(annotation, (TensorType, StructType)):
        return Value(initial(annotation, host_value(annotation, arg)))
    if isinstance(annotation, ArrayAnnotation) or annotation is ArrayAnnotation:
        clamp = isinstance(annotation, ArrayAnnotation) and annotation.boundary == "clamp"
        if isinstance(arg, Field):
            return arg.clamping() if clamp else arg
        shape = annotation.element_shape if isinstance(annotation, ArrayAnnotation) else ()
        found = known(External(as_numpy(arg), shape), external)
        return found.clamping() if clamp else found
    if dataclasses.is_dataclass(annotation):
        return Members(annotation, arg, external)
    if isinstance(arg, (np.ndarray,)):
        return known(External(arg, ()), external)
    return arg


def known(e: External, external: list) -> External:
    """One container for each array, also when it is passed twice."""
    for other in external:
        if other.array is e.array and other.element_shape == e.element_shape:
            return other
        if np.shares_memory(other.array, e.array):
            raise Unmodelled("arguments that overlap in part")
    external.append(e)
    return e


def as_numpy(arg) -> np.ndarray:
    return arg if isinstance(arg, np.ndarray) else arg.numpy()


def scalar_argument(dtype: DType, arg) -> Num:
    if dtype.real:
        return Num(dtype, rounded(float(arg), dtype))
    if isinstance(arg, (float, np.floating)):
        raise Unmodelled("a real for an integer parameter")
    return Num(dtype, int(arg != 0) if dtype.bits == 1 else wrap(int(arg), dtype))


def host_value(annotation, arg):
    if isinstance(annotation, TensorType):
        return arg if isinstance(arg, Tensor) else Tensor.of(np.array(arg).tolist())
    return arg


class Lifted:
    """An object of a class with template_primitives=False: each launch reads its numbers."""

    def __init__(self, obj):
        self.obj = obj

    def __getattr__(self, name: str):
        found = getattr(self.obj, name)
        if isinstance(found, SCALARS):
            # A bool is an integer here.
            dtype = scalar_type(float if isinstance(found, float) else int)
            return Value(scalar_argument(dtype, found))
        return Lifted(found) if hasattr(type(found), "numbers_at_run_time") else found


class Members:
    """A dataclass instance inside a kernel."""

    def __init__(self, annotation, instance, external):
        for f in dataclasses.fields(annotation):
            setattr(self, f.name, bound(f.type, getattr(instance, f.name), external))


def to_python(x):
    if isinstance(x, Num):
        return x.value
    if isinstance(x, Tensor):
        return [to_python(e) for e in x.items] if len(x.shape) == 1 else [[to_python(e) for e in r] for r in x.rows()]
    return {name: to_python(v) for name, v in x.members.items()}
