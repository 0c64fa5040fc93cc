"""Imports run in no circle, those inside of functions included. The ones that are left may only become smaller."""

import pytest

grimp = pytest.importorskip("grimp", reason="needs import-linter")

# What computes with values at trace time is one subject in several files, and so are matrices on the host. A field
# makes its check flags, which are fields; an ndarray gives views, which know what they view.
LEFT = [
    "lang.access lang.debug_checks lang.structs lang.tensor lang.typed lang.value",
    "lang.casts lang.element_view lang.function_table lang.host_math lang.matrix lang.matrix_containers "
    "lang.matrix_factories lang.ndrange lang.primitive_types lang.python_arch lang.store lang.tensor_types",
    "data.buffer_view data.check_flags data.field data.matrix_field data.ndarray data.node data.snode",
    "data.tensor data.tensor_factories",
]


def _circles(imports: dict) -> list:
    """The sets of modules that reach each other, by Tarjan's algorithm."""
    number, low, stack, found = {}, {}, [], []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in imports[module]:
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    for module in imports:
        if module not in number:
            visit(module)
    return found


def test_circles_are_found():
    imports = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": ["d"], "f": ["a", "f"]}
    assert sorted(map(sorted, _circles(imports))) == [["a", "b", "c"], ["d", "e"]]


def test_imports_run_in_no_new_circle():
    graph = grimp.build_graph("quadrants", exclude_type_checking_imports=True)
    imports = {m: sorted(graph.find_modules_directly_imported_by(m)) for m in sorted(graph.modules)}
    left = [{f"quadrants.{name}" for name in names.split()} for names in LEFT]
    new = [circle for circle in _circles(imports) if not any(circle <= known for known in left)]
    assert new == []
