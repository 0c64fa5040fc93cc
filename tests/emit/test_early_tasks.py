"""CUDA tasks that may start while the work before them ends: only those that wait for it themselves."""

from __future__ import annotations

import pytest

from quadrants.emit import dialects, sample
from quadrants.emit.render import render

WAIT = "griddepcontrol.wait"


def rendered(name, template_path=None):
    return render(sample.module(), dialects.get(name), {"debug": True}, template_path)


def test_every_task_waits_before_all_else():
    made = rendered("cuda")
    assert made.early and WAIT in made.text
    for task in made.text.split("__global__")[1:]:
        assert task[task.index("{") + 1 :].lstrip().startswith("qd_grid_await_earlier();")


@pytest.mark.parametrize("name", ["hip", "c"])
def test_other_dialects_do_not(name):
    made = rendered(name)
    assert not made.early and WAIT not in made.text


def test_a_template_without_the_wait_has_tasks_that_start_when_others_have_ended(tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "task.cu.j2").write_text(
        '{% set grid_constant = "__grid_constant__ " %}{% extends "builtin/cuda/task.cu.j2" %}'
        '{% block tasks %}{{ super() | replace(start, "") }}{% endblock %}'
    )
    made = rendered("cuda", [str(tmp_path)])
    assert "__global__" in made.text and "await_earlier();" not in made.text.split("__global__", 1)[1]
    assert not made.early
