"""From a kernel and the arguments of one call to an IR module."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend import source as source_of
from quadrants.frontend.frame import Frame, closure_cells
from quadrants.frontend.tracer import Tracer
from quadrants.ir.names import identifier
from quadrants.ir.nodes import Module
from quadrants.lang import kernel_hook, scope, tensor, typed
from quadrants.lang.value import Value


@dataclass(slots=True)
class Traced:
    module: Module
    bindings: list
    fields: list
    prints: bool
    called: list
    labels: list  # of the checkpoints, as the user wrote them
    attributes: tuple  # (parameter, path) of what was read off template objects


def trace_kernel(
    fn,
    parameters,
    args: tuple,
    options,
    *,
    fastcache: bool = False,
    graph: bool = False,
    checkpoints: bool = False,
    record=None,
) -> Traced:
    """Trace `fn` for the given arguments.

    Args:
        fn: the user's function.
        parameters: list of (name, annotation).
        args: the arguments of the call that compiles.
        options: mapping of init options.
        fastcache: report what breaks purity.
        graph, checkpoints: what the kernel was declared with.
        record: a Record that is to hear what the result depends on.
    """
    tracer = Tracer(options)
    tracer.kernel_name = derivative_name(identifier(fn.__name__), tracer.ad_mode)
    tracer.purity = fastcache
    tracer.graph, tracer.checkpoints = graph, checkpoints
    if record is not None:
        tracer.record = record
        record.function(fn)
    src = source_of.of_function(fn)
    annotations = getattr(fn, "__annotations__", {})
    returns = annotations.get("return")
    owner = fn.__qualname__.split(".")
    frame = Frame(
        name=fn.__name__,
        source=src,
        globals=fn.__globals__,
        cells=closure_cells(fn),
        fn=fn,
        kind="kernel",
        return_annotation=returns,
        has_return_annotation=returns is not None,
        class_name=owner[-2] if len(owner) > 1 and owner[-2] != "<locals>" else "",
        node=src.tree,
    )
    tracer.note_def(frame)
    tracer.frames.append(frame)
    previous = scope.enter(tracer)
    try:
        return _trace(tracer, frame, fn, parameters, args)
    except Exception as error:
        if options.get("print_full_traceback"):
            raise
        raise tracer.translate_error(error) from None
    finally:
        scope.leave(previous)


def derivative_name(name: str, mode: str) -> str:
    """The name under which a kernel, or its derivative in `mode`, is compiled."""
    return f"{name}_{mode}_grad" if mode else name


def _trace(tracer: Tracer, frame: Frame, fn, parameters, args) -> Traced:
    for index, ((name, annotation), x) in enumerate(zip(parameters, args)):
        tracer.parameter_annotations[(index, ())] = annotation
        tracer.bind_kernel_parameter(index, name, annotation, x)
    tracer.exec_body(frame.source.tree.body)
    if frame.has_return_annotation and not frame.returned:
        frame.node = frame.source.tree
        raise QuadrantsSyntaxError("Kernel has a return type but does not have a return statement")
    tracer.check_top_level(tracer.block)
    result = tuple(e.type for e in frame.result) if frame.result else ()
    module = Module(
        name=tracer.kernel_name,
        body=tracer.block,
        functions=tracer.function_list,
        arrays=tracer.arrays,
        params=[v for b in tracer.bindings for v in b.variables],
        result=result,
        sites=tracer.sites,
        doc=(ast.get_docstring(frame.source.tree) or "").split("\n")[0],
        loc=tracer.loc(),
        def_lines=tracer.def_lines,
    )
    fields = [f for f, _ in tracer.fields.values()]
    attributes = tuple(tracer.attributes)
    return Traced(module, tracer.bindings, fields, tracer.prints, tracer.called, tracer.labels, attributes)


def _from_python(name: str, args: tuple, kwargs: dict):
    """A host-scope function met a run-time value inside a plain Python helper."""
    from quadrants.frontend import intrinsics

    tracer = scope.require()
    if name in ("Vector", "Matrix"):
        return intrinsics._vector(tracer, *args, **kwargs)
    if name == "compound_type":
        return tensor.of_type(args[0].ir_type(), tuple(args[1:]))
    if name.startswith("Matrix."):
        from quadrants.lang import access

        method = name.split(".", 1)[1]
        if method in intrinsics._FACTORIES:
            return intrinsics._FACTORIES[method](tracer, *args, **kwargs)
        if method in typed.OPS:
            return typed.binary(method, *args)
        return access.attribute(typed.to_value(args[0]), method)(*args[1:], **kwargs)
    return intrinsics._BY_NAME[name](tracer, *args, **kwargs)


kernel_hook.handler = _from_python
kernel_hook.value_class = Value
kernel_hook.scope_check = scope.in_kernel
