"""Every form of an index on every container: read, written, added to and differentiated, against plain Python."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from sweep_containers import CONTAINERS, Container
from sweep_forms import FORMS, FUNCTIONS, evaluate

import quadrants as qd

pytestmark = pytest.mark.sampled

STEPS = 16
# Each kernel has one statement for each form; `ok[k, i]` says whether form k has a valid index in iteration i.
KERNELS = {
    "read": "out[{k}, i] = {a}",
    "write": "{a} = {k}.0 * 16 + i",
    "atomic": "{a} += i + 1",
    "gradient": "loss[None] += (i + 1) * {a} * {a}",
}
_HEADER = """\
import numpy as np
import quadrants as qd

{make}

at = qd.field(qd.i32, 16)
loss = qd.field(qd.f32, (), needs_grad=True)

{functions}
"""
_IN_PARALLEL = ("for i in range(steps):",)
_ONE_BY_ONE = ("for _ in range(1):", "    for i in range(steps):")


def text_of(c: Container, valid: list) -> str:
    """The module of a container, with a kernel for each thing to do, of the forms that are ever valid."""
    parts = [_HEADER.format(make=c.make, functions=FUNCTIONS)]
    fixed = "steps: qd.i32, n: qd.i32, ok: qd.types.ndarray(), out: qd.types.ndarray()"
    signature = ", ".join([fixed, *(f"{name}: {annotation}" for name, annotation, _ in c.parameters)])
    for role, statement in KERNELS.items():
        if role == "gradient" and not c.gradient:
            continue
        head = c.head or (_ONE_BY_ONE if role == "write" else _IN_PARALLEL)
        lines = [f"@qd.kernel\ndef {role}({signature}):", *("    " + line for line in head)]
        indent = " " * (len(head[-1]) - len(head[-1].lstrip()) + 8)
        for k in valid:
            lines.append(f"{indent}if ok[{k}, i] == 1:")
            lines.append(f"{indent}    {statement.format(k=k, a=c.element(FORMS[k]))}")
        if role in ("write", "atomic"):
            lines += ["    " + line for line in c.tail]
        parts.append("\n".join(lines))
    parts.append(f"arguments = ({''.join(value + ', ' for _, _, value in c.parameters)})")
    return "\n\n\n".join(parts) + "\n"


def content(x) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x.copy()
    return x.detach().cpu().numpy().copy() if hasattr(x, "detach") else x.to_numpy()


def put(x, values: np.ndarray) -> None:
    if isinstance(x, np.ndarray):
        x[...] = values
    elif hasattr(x, "detach"):
        x.detach().copy_(x.detach().new_tensor(values))
    else:
        x.from_numpy(values)


class Sweep:
    """One container: its module, its start, and where each form leads in each iteration."""

    def __init__(self, c: Container, path):
        self.c, self.n = c, len(c.valid)
        rng = np.random.default_rng(1)
        self.at = [int(x) for x in rng.permutation(np.resize(np.array(c.valid), STEPS))]
        self.start = rng.integers(1, 8, c.shape).astype(np.float32)
        self.cells = [[self.cell(form, i) for i in range(STEPS)] for form in FORMS]
        path.write_text(text_of(c, [k for k, row in enumerate(self.cells) if any(row)]))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        self.m = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.m)
        self.m.at.from_numpy(np.array(self.at, np.int32))
        self.ok = np.array([[cell is not None for cell in row] for row in self.cells], np.int32)
        self.out = np.zeros((len(FORMS), STEPS), np.float32)
        self.neighbours = [eval(text, vars(self.m)) for text in c.neighbours]
        for x in self.neighbours:
            put(x, (np.arange(content(x).size) + 1).reshape(content(x).shape).astype(content(x).dtype))
        self.beside = [content(x) for x in self.neighbours]

    def cell(self, form: str, i: int):
        """The element of `A`, or None where there is none."""
        e = evaluate(form, i, self.n, self.at)
        if e not in self.c.valid:
            return None
        names = {"i": i, "n": self.n}
        found = [eval(text, names) if text != "{e}" else e for text in self.c.indices]
        found[self.c.swept] += self.c.skipped - self.c.low
        return tuple(found)

    def run(self, role: str, which: int = -1, derivative: bool = False) -> None:
        kernel = getattr(self.m, role)
        ok = self.ok if which < 0 else np.where(np.arange(len(FORMS))[:, None] == which, self.ok, 0)
        (kernel.grad if derivative else kernel)(STEPS, self.n, ok, self.out, *self.m.arguments)

    def reads(self):
        put(self.m.A, self.start)
        self.run("read")
        for k, row in enumerate(self.cells):
            wanted = [self.start[cell] if cell else 0 for cell in row]
            yield k, np.array_equal(self.out[k], wanted)

    def writes(self, role: str):
        for k, row in enumerate(self.cells):
            put(self.m.A, self.start)
            self.run(role, k)
            wanted = self.start.copy()
            for i, cell in enumerate(row):
                if cell:
                    wanted[cell] = k * 16 + i if role == "write" else wanted[cell] + i + 1
            yield k, np.array_equal(content(self.m.A), wanted)

    def gradients(self):
        put(self.m.A, self.start)
        for k, row in enumerate(self.cells):
            self.clear_gradient()
            self.m.loss.grad[None] = 1
            self.run("gradient", k, derivative=True)
            wanted = np.zeros_like(self.start)
            for i, cell in enumerate(row):
                if cell:
                    wanted[cell] += 2 * (i + 1) * self.start[cell]
            yield k, np.array_equal(content(self.m.A.grad), wanted)

    def clear_gradient(self) -> None:
        if hasattr(self.m.A, "detach"):
            self.m.A.grad = None
        else:
            self.m.A.grad.fill(0)

    def wrong(self) -> list[str]:
        """What differs from Python, as `role: element`."""
        found = []
        for role, results in (
            ("read", self.reads()),
            ("write", self.writes("write")),
            ("atomic", self.writes("atomic")),
        ):
            found += [f"{role}: {self.c.element(FORMS[k])}" for k, right in results if not right]
        if self.c.gradient:
            found += [f"gradient: {self.c.element(FORMS[k])}" for k, right in self.gradients() if not right]
        for text, x, before in zip(self.c.neighbours, self.neighbours, self.beside, strict=True):
            if not np.array_equal(content(x), before):
                found.append(f"{text} was written, too")
        return found


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda c: c.name)
def test_every_index_reaches_the_element_that_it_means(container, init, arch_name, tmp_path):
    if container.needs:
        pytest.importorskip(container.needs, reason=f"needs {container.needs}")
    init(ad_stack_experimental_enabled=True, opt_level=0, log_level=qd.ERROR, offline_cache=False)
    if container.blocks and arch_name == "cpu":
        with pytest.raises(Exception, match="block"):
            Sweep(container, tmp_path / "sweep.py").run("read")
        return
    assert Sweep(container, tmp_path / "sweep.py").wrong() == []


@pytest.mark.cpu_only
def test_the_sweep_is_what_it_should_be():
    """Enough of both, no form without a valid index, and no two of one name."""
    assert len(set(FORMS)) == len(FORMS) >= 24
    assert len({c.name for c in CONTAINERS}) == len(CONTAINERS) >= 30
    for form in FORMS:
        for n in (3, 4, 16):
            values = [evaluate(form, i, n, list(range(n)) * 6) for i in range(STEPS)]
            assert any(v in range(n) for v in values) or n < 16, form
