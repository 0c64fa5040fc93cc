"""From a kernel and the arguments of one call to an IR module."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import cast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend.frame import Frame
from quadrants.frontend.options import Options
from quadrants.frontend.tracer import Tracer
from quadrants.ir.names import identifier
from quadrants.ir.nodes import Module
from quadrants.lang import kernel_hook, scope, tensor, typed
from quadrants.lang.value import Value


@dataclass(slots=True, eq=False, repr=False)
class Traced:
    module: Module
    bindings: list
    fields: list
    prints: bool
    labels: list  # of the checkpoints, as the user wrote them
    attributes: tuple  # (parameter, path) of what was read off template objects
    graph: bool  # whether the kernel was declared with graph=True


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
        parameters: list of (name, kind).
        args: the arguments of the call that compiles.
        options: mapping of init options.
        fastcache: report what breaks purity.
        graph, checkpoints: what the kernel was declared with.
        record: a Record that is to hear what the result depends on.
    """
    asked = Options(options, identifier(fn.__name__), graph=graph, checkpoints=checkpoints, fastcache=fastcache)
    tracer = Tracer(asked, record)
    if record is not None:
        record.function(fn)
    frame = Frame(fn, "kernel", getattr(fn, "__annotations__", {}).get("return"))
    tracer.positions.note_def(frame)
    tracer.positions.enter(frame)
    previous = scope.enter(tracer)
    try:
        return _trace(tracer, frame, fn, parameters, args)
    except Exception as error:
        if options.get("print_full_traceback"):
            raise
        raise tracer.positions.translate_error(error) from None
    finally:
        scope.leave(previous)
        tracer.close()


def _trace(tracer: Tracer, frame: Frame, fn, parameters, args) -> Traced:
    for index, ((name, kind), x) in enumerate(zip(parameters, args)):
        tracer.arguments.bind_kernel_parameter(index, name, kind, x)
    tracer.walker.exec_body(frame.source.tree.body)
    if frame.has_return_annotation and not frame.returned:
        frame.node = frame.source.tree
        raise QuadrantsSyntaxError("Kernel has a return type but does not have a return statement")
    tracer.companions.check_top_level(tracer.writer.block)
    result = tuple(e.type for e in frame.result) if frame.result else ()
    module = Module(
        name=tracer.options.kernel_name,
        body=tracer.writer.block,
        functions=tracer.functions.emitted,
        arrays=tracer.declared.arrays,
        params=tracer.declared.parameters(),
        result=result,
        sites=tracer.writer.sites,
        doc=(ast.get_docstring(frame.source.tree) or "").split("\n")[0],
        loc=tracer.positions.loc(),
        def_lines=tracer.positions.def_lines,
        on_nodes=tracer.declared.on_nodes,
    )
    fields = [f for f, _ in tracer.declared.fields.values()]
    attributes = tuple(tracer.declared.attributes)
    declared = tracer.declared
    return Traced(
        module, declared.bindings, fields, declared.prints, tracer.graphs.labels, attributes, tracer.options.graph
    )


def _from_python(name: str, args: tuple, kwargs: dict):
    """A host-scope function met a run-time value inside a plain Python helper."""
    from quadrants.frontend import intrinsics

    tracer = cast(Tracer, scope.require())  # which `trace_kernel` entered
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
