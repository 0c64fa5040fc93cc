"""Random differentiable programs: reverse mode, forward mode, tapes and finite differences agree, in f64.

QD_AD_PROGRAMS  how many programs, 100 when unset; `make nightly` takes 3,000.
QD_AD_SEED      of the first one; 0 when unset, "new" for another one each time.
"""

from __future__ import annotations

import os
import random
from types import SimpleNamespace

import numpy as np
import pytest

from quadrants.ad import adstack_saved
from quadrants.ad.build import zero

from . import derivatives
from .derivative_model import Disagreement, Model
from .execute import Arch
from .hunt import Hunt

COUNT = int(os.environ.get("QD_AD_PROGRAMS", 100))
SEED = os.environ.get("QD_AD_SEED", "0")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [derivatives.program(seed).text for seed in range(250)]


@pytest.mark.slow
@pytest.mark.runtime(exclude=("metal",))  # which has no f64, in which they compute
def test_reverse_forward_and_differences_agree(arch_name, capsys):
    seed = random.SystemRandom().randrange(10**9) if SEED == "new" else int(SEED)
    name = arch_name if arch_name == "cpu" or os.environ.get("QD_EMULATE") == "1" else f"{arch_name}-real"
    hunt = Hunt(COUNT, seed, (name,), "derivatives", jobs=1 if COUNT <= 100 else 0)
    findings = hunt.run()
    assert findings == [], hunt.summary() + "\n" + capsys.readouterr().out
    assert hunt.kinds["open"] <= 0.1 * COUNT, hunt.summary()


@pytest.mark.cpu_only
def test_differences_of_digits_that_are_none_accuse_nobody():
    """The cosine of a number of 55 digits, whose slope is as large as that; and one that differences can tell."""
    along = SimpleNamespace(point=np.array([0.3]), direction=np.array([1.0]))
    assert Model._agrees(along, "sign", lambda x: float(np.cos(1e54 * x[0])), -1e54 * np.sin(0.3e54)) is False
    assert Model._agrees(along, "sign", lambda x: float(np.cos(x[0])), -np.sin(0.3)) is True
    with pytest.raises(Disagreement):
        Model._agrees(along, "sign", lambda x: float(np.cos(x[0])), 1e54)


@pytest.mark.cpu_only
@pytest.mark.parametrize("distance", [0.0, 1e-7, 3e-6, 8e-5, 3e-4])
def test_differences_across_a_kink_accuse_nobody(distance):
    """However near it is: all steps may go over it, and agree about a slope that is neither of the two."""
    along = SimpleNamespace(point=np.array([0.2 + distance]), direction=np.array([1.0]))
    for other in (0.0, 0.93, 1.1):  # below the kink, where the slope above is 1
        f = lambda x, other=other: 5.0 + max(x[0] - 0.2, 0.0) + other * min(x[0] - 0.2, 0.0)  # noqa: E731
        assert Model._agrees(along, "sign", f, 1.0) is False
    assert Model._agrees(along, "sign", lambda x: float(np.exp(3 * x[0])), 3 * np.exp(3 * along.point[0])) is True


@pytest.mark.cpu_only
def test_a_wrong_derivative_is_found(monkeypatch):
    """Zeros are saved in place of what loops carry."""
    push = adstack_saved.Stack.push
    monkeypatch.setattr(adstack_saved.Stack, "push", lambda self, loop, value: push(self, loop, zero(self.decl.type)))
    signs = {derivatives.check_seed(seed, 8, frozenset(), Arch("cpu")).sign for seed in range(12)}
    assert "reverse mode and differences" in signs


@pytest.mark.cpu_only
def test_programs_have_enough_of_everything(texts):
    everything = "for j|if |elif |else:|qd.atomic_add|turn(|for k in|& 1] =|n[i]|qd.static| @ |not b|% 5|min(|** |hop("
    everything += "|qd.atomic_sub|spin(|in qd.ndrange|settle(|Body(|move(|.a = |.w[|damp(| if i < 2 |~|<< 1|>> 1|- -("
    kernels = [text[text.index("def program") :] for text in texts]
    for wanted in everything.split("|"):
        assert sum(wanted in text for text in kernels) >= 2, wanted
    nested = sum(any(line.startswith(" " * 16 + "for") for line in text.splitlines()) for text in kernels)
    assert nested >= 20


@pytest.mark.cpu_only
def test_numbers_lie_in_containers_of_every_kind(texts):
    kinds = "dense(qd.i, 2).dense(qd.i, 2)|dense(qd.ij, (2, 1))|order='ji'|offset=|Struct.field|Layout.AOS|layout=SOA"
    kinds += "|cells.place|qd.ndarray(qd.f64|Vector.ndarray(|layout=(1, 0)|State_|Matrix.field|np.zeros"
    kinds += "|.place(x, x.grad"
    for wanted in kinds.split("|"):
        assert sum(wanted in text for text in texts) >= 2, wanted


@pytest.mark.cpu_only
def test_forms_can_be_left_out():
    off = frozenset({"blocked_index", "component_index", "negated_comparison"})
    for seed in range(100):
        text = derivatives.program(seed, None, off).text
        compile(text, "program", "exec")
        assert ").dense(" not in text and "- -(" not in text and "& 1]" not in text
