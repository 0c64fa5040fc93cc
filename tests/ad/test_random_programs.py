"""Random kernels: reverse mode against forward mode and against finite differences, in f64.

QD_AD_PROGRAMS  how many programs, 100 when unset; `make nightly` takes 2,000, other ones each time.
"""

from __future__ import annotations

import importlib.util
import itertools
import os

import numpy as np
import pytest
from differences import slope
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import N, programs

import quadrants as qd

COUNT = int(os.environ.get("QD_AD_PROGRAMS", 100))
OPTIONS = ({}, {}, {"debug": True}, {"cfg_optimization": False}, {"ad_stack_size": 16})
_serial = itertools.count()


def load(text: str, folder):
    """The module of a program. A file, since kernels are read from their source."""
    path = folder / f"program_{next(_serial)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Model:
    """A program with its data: a function from `point`, an array (N, 3) with x and v, to the weighted sum of y."""

    def __init__(self, module, rng):
        self.m = module
        self.weights = rng.uniform(-1, 1, N)
        self.point = rng.uniform(-1.2, 1.2, (N, 3))
        self.c = float(rng.uniform(-1, 1))
        module.n.from_numpy(rng.integers(0, 4, N).astype(np.int32))
        module.at.from_numpy(rng.integers(0, N, N).astype(np.int32))

    def put(self, x, v, values) -> None:
        x.from_numpy(np.ascontiguousarray(values[:, 0]))
        v.from_numpy(np.ascontiguousarray(values[:, 1:]))

    def clear(self) -> None:
        for field in (self.m.y, self.m.z, self.m.u):
            field.fill(0)

    def value(self, point) -> float:
        self.put(self.m.x, self.m.v, point)
        self.clear()
        self.m.program(self.c)
        return float((self.weights * self.m.y.to_numpy()).sum())

    def backward(self) -> np.ndarray:
        self.value(self.point)
        qd.ad.clear_all_gradients()
        self.m.y.grad.from_numpy(self.weights)
        self.m.program.grad(self.c)
        return np.concatenate([self.m.x.grad.to_numpy()[:, None], self.m.v.grad.to_numpy()], axis=1)

    def forward(self, direction) -> float:
        self.put(self.m.x, self.m.v, self.point)
        self.clear()
        with qd.ad.FwdMode(loss=self.m.y, param=self.m.x, seed=direction[:, 0]):
            self.m.v.dual.from_numpy(np.ascontiguousarray(direction[:, 1:]))
            self.m.program(self.c)
        return float((self.weights * self.m.y.dual.to_numpy()).sum())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.mark.slow
def test_reverse_forward_and_differences_agree(init, folder):
    counts = {"programs": 0, "measured": 0}

    @settings(
        max_examples=COUNT, deadline=None, database=None, derandomize=COUNT <= 100, print_blob=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs, st.integers(0, 2**16), st.sampled_from(OPTIONS))
    def check(text, seed, options):
        counts["programs"] += 1
        init(ad_stack_experimental_enabled=True, default_fp=qd.f64, offline_cache=False, **options)
        rng = np.random.default_rng(seed)
        model = Model(load(text, folder), rng)
        direction = rng.uniform(-1, 1, (N, 3))
        backward = float((model.backward() * direction).sum())
        forward = model.forward(direction)
        scale = max(1.0, abs(forward))
        assert abs(backward - forward) <= 1e-9 * scale, (backward, forward)
        measured, error = slope(model.value, model.point, direction)
        # Where a branch or a rounding changes within the steps the differences say nothing; the modes still agree.
        if error < 1e-5 * scale:
            counts["measured"] += 1
            assert abs(measured - forward) <= 1e-5 * scale + 10 * error, (measured, forward)

    check()
    assert counts["measured"] > 0.6 * counts["programs"], counts


@pytest.mark.cpu_only
def test_the_programs_are_what_they_should_be():
    """Enough of everything: loops in loops, branches, vectors, recurrences, second tasks."""
    texts = []

    @settings(max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs)
    def collect(text):
        compile(text, "program", "exec")
        texts.append(text)

    collect()
    texts = [text[text.index("def program") :] for text in texts]
    everything = "for j|if |elif |else:|qd.atomic_add|turn(|for k in| % 2] =|n[i]|qd.static| @ |not b|% 5|min(|** "
    everything += "|qd.atomic_sub|spin(|[hop(|in qd.ndrange|settle(|Body(|move(|.a = |.w["
    for wanted in everything.split("|"):
        assert sum(wanted in text for text in texts) >= 2, wanted
    nested = sum(any(line.startswith(" " * 16 + "for") for line in text.splitlines()) for text in texts)
    assert nested >= 20
