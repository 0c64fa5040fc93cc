"""What the tests of the language share: errors of an exact class with a stable fragment, counting, plain checks."""

from __future__ import annotations

import contextlib
import warnings

import pytest

import quadrants as qd


def fold(text: object) -> str:
    """A message without its line breaks: banners wrap at 80 columns."""
    return "".join(str(text).split())


@contextlib.contextmanager
def raises(kind: type[BaseException], fragment: str = ""):
    """The block must raise exactly `kind`, with `fragment` in the message."""
    with pytest.raises(kind) as caught:
        yield caught
    assert type(caught.value) is kind, caught.value
    assert fold(fragment) in fold(caught.value), str(caught.value)


@contextlib.contextmanager
def warns(kind: type[Warning], fragment: str):
    """The block must give exactly one warning of `kind` with `fragment` in it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    found = [w for w in caught if w.category is kind and fragment in str(w.message)]
    assert len(found) == 1, [str(w.message) for w in caught]


def specialisations(kernel) -> int:
    """How many times `kernel` was compiled."""
    return len(kernel._primal.materialized_kernels)


def alive() -> None:
    """The runtime still compiles and runs: called after errors."""

    @qd.kernel
    def twice(x: qd.i32) -> qd.i32:
        return 2 * x

    assert twice(21) == 42


def array(dtype, values):
    """A 1-D ndarray with these values."""
    out = qd.ndarray(dtype, shape=(len(values),))
    for i, value in enumerate(values):
        out[i] = value
    return out
