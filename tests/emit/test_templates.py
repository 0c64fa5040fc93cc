"""Templates of the user: where they are found, what wins, and that no stale code runs."""

from __future__ import annotations

import os

import numpy as np
import pytest
import template_kernels as k

import quadrants as qd
from quadrants.errors import QuadrantsCompilationError

HEADER = '{%% extends "builtin/%s" %%}\n{%% block header %%}\n// %s\n{{ super() }}\n{%% endblock %%}\n'


def put(folder, name: str, text: str) -> str:
    """Write a template; returns the folder, as the options want it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(folder)


def header(folder, mark: str, name: str = "c/task.c.j2") -> str:
    return put(folder, name, HEADER % (name, mark))


def with_template(folder):
    """A fresh kernel with a template folder of its own."""
    return qd.kernel(template=folder)(k.fill.fn)


def test_the_folder_of_a_kernel(tmp_path):
    text = with_template(header(tmp_path, "of the kernel")).source(np.zeros(4, np.float32))
    assert text.lstrip().startswith("// of the kernel\n")
    # The rest is as without it.
    assert text.split("// of the kernel\n")[1].split() == k.fill.source(np.zeros(4, np.float32)).split()


def test_a_path_object_and_a_list_are_folders_too(tmp_path):
    header(tmp_path, "here")
    x = np.zeros(4, np.float32)
    assert "// here" in with_template(tmp_path).source(x)
    assert "// here" in with_template([tmp_path]).source(x)


def test_the_search_order(tmp_path, monkeypatch):
    x = np.zeros(4, np.float32)
    by_environment, by_init, by_kernel = (tmp_path / name for name in "abc")
    for folder in (by_environment, by_init, by_kernel):
        header(folder, f"folder {folder.name}")
        put(folder, "c/prelude/types.j2", "")
    kernel = with_template(str(by_kernel))
    monkeypatch.setenv("QD_TEMPLATE_PATH", str(by_environment))
    assert "// folder a" in k.fill.source(x)
    qd.init(arch=qd.cpu, template_path=[str(by_init)])
    assert "// folder b" in k.fill.source(x)
    assert "// folder c" in kernel.source(x)
    # A folder without the template leaves the word to the next one.
    (by_kernel / "c/task.c.j2").unlink()
    assert "// folder b" in kernel.source(x)
    (by_init / "c/task.c.j2").unlink()
    assert "// folder a" in kernel.source(x)
    monkeypatch.delenv("QD_TEMPLATE_PATH")
    assert "// folder" not in kernel.source(x)


def test_several_folders_in_the_environment(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    monkeypatch.setenv("QD_TEMPLATE_PATH", os.pathsep.join([str(first), header(second, "second")]))
    assert "// second" in k.fill.source(np.zeros(4, np.float32))


def test_an_override_may_extend_the_built_in_set_of_any_dialect(tmp_path):
    folder = header(tmp_path, "cuda only", "cuda/task.cu.j2")
    kernel, x = with_template(folder), np.zeros(4, np.float32)
    assert "// cuda only" in kernel.source(x, arch=qd.cuda) and "// cuda only" not in kernel.source(x, arch=qd.cpu)


def test_an_override_changes_what_runs(tmp_path):
    body = '{% extends "builtin/c/task.c.j2" %}\n{% block prelude %}{{ super() }}\n#define K VALUE\n{% endblock %}\n'
    twice = "{% block arguments %}{{ super() }}#define SCALE VALUE\n{% endblock %}"
    task = "{% block tasks %}{{ super() | replace('= 1.0f;', '= SCALE;') }}{% endblock %}"
    x = np.zeros(4, np.float32)

    def write(value):
        put(tmp_path, "c/task.c.j2", (body + twice + task).replace("VALUE", value))

    k.fill(x)
    assert x.tolist() == [1] * 4
    for value in ("2.0f", "3.0f", "2.0f"):
        write(value)
        with_template(str(tmp_path))(x)
        assert x.tolist() == [float(value[:-1])] * 4
    # The plain kernel in a new runtime, with the disk cache full of the others.
    qd.init(arch=qd.cpu)
    k.fill(x)
    assert x.tolist() == [1] * 4


def test_an_edit_is_noticed_in_the_same_process(tmp_path):
    x = np.zeros(4, np.float32)
    kernel = with_template(header(tmp_path, "first"))
    assert "// first" in kernel.source(x)
    header(tmp_path, "other")
    assert "// other" in kernel.source(x)


def test_a_file_that_appears_is_noticed(tmp_path):
    x = np.zeros(4, np.float32)
    kernel = with_template(str(tmp_path))
    assert "ours" not in kernel.source(x)
    put(tmp_path, "c/prelude/types.j2", "{% macro family(requests) %}\n/* ours */{% endmacro %}")
    assert "/* ours */" in kernel.source(x)


def test_a_prelude_macro(tmp_path):
    macro = "{% macro elementwise(name, spelling, result, operands) %}/* {{ name }} of {{ c(result) }} */{% endmacro %}"
    text = with_folder(k.vectors, put(tmp_path, "c/prelude/map.j2", macro)).source(qd.Vector.field(3, qd.f32, shape=2))
    assert "/* qd_add_vec3_f32 of qd_vec3_f32 */" in text


def test_a_prelude_override_leaves_the_other_macros_of_the_family(tmp_path):
    macro = "{% macro cross(name, t) %}/* mine */{% endmacro %}"
    kernel = with_folder(k.vectors, put(tmp_path, "c/prelude/linalg.j2", macro))
    text = kernel.source(qd.Vector.field(3, qd.f32, shape=2))
    assert "qd_dot_vec3_f32(qd_vec3_f32 a, qd_vec3_f32 b)" in text


def with_folder(kernel, folder):
    return qd.kernel(template=folder)(kernel.fn)


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("{% block header %}\n{{ nothing }}{% endblock %}", 3, "'nothing' is undefined; a template may use contract,"),
        ("{% block header %}{{ tasks[0].speed }}{% endblock %}", 2, "has no attribute 'speed'"),
        ("\n{% block header %}{% if %}{% endblock %}", 3, "Expected an expression"),
        ('{% block header %}{% include "no/such.j2" %}{% endblock %}', 2, "no template 'no/such.j2'"),
        ("{% block header %}{{ kernel + 1 }}{% endblock %}", 2, "TypeError"),
        ("{% block haeder %}{% endblock %}", 2, "unknown block 'haeder'; there are header, prelude,"),
    ],
)
def test_an_error_names_file_and_line(tmp_path, text, line, message):
    folder = put(tmp_path, "c/task.c.j2", '{% extends "builtin/c/task.c.j2" %}\n' + text)
    with pytest.raises(QuadrantsCompilationError) as caught:
        with_template(folder).source(np.zeros(4, np.float32))
    assert f"{tmp_path}/c/task.c.j2:{line}: " in str(caught.value) and message in str(caught.value)


def test_a_macro_that_nothing_asks_for_is_an_error(tmp_path):
    folder = put(tmp_path, "c/prelude/linalg.j2", "\n{% macro corss(name, t) %}{% endmacro %}")
    with pytest.raises(QuadrantsCompilationError) as caught:
        with_folder(k.vectors, folder).source(qd.Vector.field(3, qd.f32, shape=2))
    assert f"{tmp_path}/c/prelude/linalg.j2:2: no helper is made by a macro 'corss'" in str(caught.value)


def test_a_skeleton_of_the_user_has_blocks_of_its_own(tmp_path):
    put(
        tmp_path,
        "c/base.j2",
        "{% extends 'builtin/c/task.c.j2' %}{% block header %}{% block mine %}{% endblock %}{% endblock %}",
    )
    folder = put(tmp_path, "c/task.c.j2", "{% extends 'c/base.j2' %}{% block mine %}// of the user{% endblock %}")
    assert "// of the user" in with_template(folder).source(np.zeros(4, np.float32))


def test_folders_are_paths():
    for wrong in (5, [5], {"c": 1}):
        with pytest.raises(TypeError, match="template must be a path or a list of paths"):
            qd.kernel(template=wrong)(k.fill.fn)


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.*does not exist"):
        with_template(str(tmp_path / "nowhere")).source(np.zeros(4, np.float32))


def test_source_needs_no_device_and_runs_nothing():
    x = np.zeros(4, np.float32)
    for arch in (qd.cuda, "cuda", "c", None):
        assert "fill" in k.fill.source(x, arch=arch)
    assert x.tolist() == [0] * 4
