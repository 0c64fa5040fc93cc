"""Random loops that read and write one container: refused where iterations meet, differentiated where they do not."""

from __future__ import annotations

import os
import random

import pytest

from quadrants.ad import collisions, versions
from quadrants.ir.nodes import Declare

from . import races
from .execute import Arch
from .hunt import Hunt

COUNT = int(os.environ.get("QD_AD_PROGRAMS", 100))
SEED = os.environ.get("QD_AD_SEED", "0")


@pytest.mark.slow
@pytest.mark.runtime(exclude=("metal",))  # which has no f64, in which they compute
def test_loops_are_refused_exactly_where_iterations_meet(arch_name, capsys):
    name = arch_name if arch_name == "cpu" or os.environ.get("QD_EMULATE") == "1" else f"{arch_name}-real"
    seed = random.SystemRandom().randrange(10**9) if SEED == "new" else int(SEED)
    hunt = Hunt(COUNT, seed, (name,), "races", jobs=1 if COUNT <= 100 else 0)
    findings = hunt.run()
    assert findings == [], hunt.summary() + "\n" + capsys.readouterr().out
    assert hunt.kinds["open"] <= 0.4 * COUNT, hunt.summary()


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("name", "answer", "sign"),
    [("collide", False, "a race is accepted"), ("collide", True, "no race"), ("apart", True, "a race is accepted")],
)
def test_a_wrong_answer_is_found(name, answer, sign, monkeypatch):
    monkeypatch.setattr(collisions.Collisions, name, lambda *_: answer)
    assert sign in {races.check_seed(seed, None, frozenset(), Arch("cpu")).sign for seed in range(40)}


@pytest.mark.cpu_only
def test_indices_that_are_lost_when_they_change_are_found(monkeypatch):
    monkeypatch.setattr(versions.Versions, "after", _declared)
    signs = (races.check_seed(seed, None, frozenset(), Arch("cpu")).sign for seed in range(400))
    assert any(sign == "a race is accepted" for sign in signs)


def _declared(self, s) -> None:
    if isinstance(s, Declare):
        self.known.add(s.var.id)
        if s.var.id not in self._changed:
            self.defined[s.var.id] = self.now(s.init)


@pytest.mark.cpu_only
def test_programs_have_enough_of_everything():
    texts = [races.program(seed).text for seed in range(250)]
    kernels = [text[text.index("def k(") :] for text in texts]
    everything = "range(n)|ndrange(3, 4)|ndrange((1, 4))|range(i)|range(i, 4)|static(|range(1):|if |else:|% 2 ==|not ("
    everything += "|s2 +=|2 * i + 1|3 * i| - i]| = |x[3]|i + i * |, x: |-= |i + n"
    for wanted in everything.split("|"):
        assert sum(wanted in text for text in kernels) >= 2, wanted
    assert sum("Vector.field" in text for text in texts) >= 20
