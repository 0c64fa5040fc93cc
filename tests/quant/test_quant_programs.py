"""Random programs on random packings do what the model says.

QD_QUANT_PROGRAMS  how many, 30 when unset, of which a third is new each day; `make nightly` takes 300.
QD_QUANT_SEED      of the first one; the day when unset.
"""

from __future__ import annotations

import datetime
import linecache
import os
import random

import numpy as np
import pytest

import quadrants as qd

from . import programs

COUNT = int(os.environ.get("QD_QUANT_PROGRAMS", 30))
TODAY = int(os.environ.get("QD_QUANT_SEED", datetime.date.today().toordinal() * 1000))
SEEDS = [*range(2 * COUNT // 3), *range(TODAY, TODAY + COUNT - 2 * COUNT // 3)]
TURN = 5


def drawn(seed: int):
    rng = random.Random(seed)
    made = programs.packing(rng)
    return made, programs.Writer(rng, made).text()


def kernel_of(text: str, name: str, fields: dict):
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"qd": qd, **fields}
    exec(compile(text, file, "exec"), scope)  # noqa: S102
    return qd.kernel(scope["step"])


def check(seed: int) -> None:
    made, text = drawn(seed)
    fields = programs.placed(qd, made)
    wanted = programs.meaning(text, made)
    kernel_of(text, f"packed{seed}", fields)()
    for name, x in fields.items():
        found = [x[i] for i in range(programs.CELLS)]
        assert found == wanted[name], f"seed {seed}: {name} of {x.quant}\n{made}\n{text}"


@pytest.mark.parametrize("first", range(0, COUNT, TURN))
def test_programs_do_what_the_model_says(init, first):
    for seed in SEEDS[first : first + TURN]:
        init()
        with np.errstate(over="ignore"):
            check(seed)


@pytest.mark.cpu_only
def test_programs_have_enough_of_everything():
    found = [drawn(seed) for seed in range(200)]
    texts = "\n".join(text for _, text in found)
    for wanted in (
        "serialize=True",
        "if i %",
        "+= ",
        "-= ",
        "&= ",
        "^= ",
        "range(16)",
        "range(64)",
        "i * i % 16",
        "_word = ",
        " | ",
    ):
        assert texts.count(wanted) >= 20, wanted
    kinds = [type(m.form).__name__ for made, _ in found for m in made.members]
    assert all(kinds.count(kind) > 50 for kind in ("Int", "Fixed", "Float"))
    assert sum(bool(made.groups) for made, _ in found) > 20
    assert sum(any(cells for _, cells in made.words) for made, _ in found) > 50


@pytest.mark.cpu_only
def test_a_wrong_rule_is_found(monkeypatch):
    """Numbers are cut where they should be rounded."""
    monkeypatch.setattr("quant.model.half_away", int)
    qd.init(arch=qd.cpu)
    wrong = 0
    for seed in range(12):
        try:
            check(seed)
        except AssertionError:
            wrong += 1
    qd.reset()
    assert wrong > 0
