"""How long the text of a derivative is in which 1,000 values are saved. It is not run: nothing is checked."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import re

from . import Work, case

LOOPS, CARRIED = 250, 4
PUSHES = LOOPS * CARRIED


def _kernel(qd):
    """A kernel with 250 loops one after the other, each of which carries 4 numbers."""
    x = qd.field(qd.f32, shape=8, needs_grad=True)
    loss = qd.field(qd.f32, shape=(), needs_grad=True)
    trips = qd.field(qd.i32, shape=())

    @qd.kernel
    def long():
        for i in x:
            a = x[i]
            b = a + 0.1
            c = a + 0.2
            d = a + 0.3
            for _ in qd.static(range(LOOPS)):
                for k in range(trips[None]):  # noqa: B007
                    a = qd.sin(a)
                    b = qd.sin(b)
                    c = qd.sin(c)
                    d = qd.sin(d)
            loss[None] += a + b + c + d

    return long


def stack_lines(text: str) -> int:
    """Lines that are there because of stacks: their declarations, pushes, reads, and tests of their depth."""
    mentions = r"^.*(?:_stack|qd_row|qd_depth|qd_heap|qd_floats|qd_float_|trips(?:_\d+)? =).*$"
    return len(re.findall(mentions, text, re.MULTILINE))


def _text(qd, dialect: str, count) -> Work:
    kernel = _kernel(qd)

    def lines(_: int) -> float:
        return count(kernel.grad.source(arch=dialect)) / PUSHES

    return Work(lambda n: None, lambda: None, difference=lines)


def _register(name: str, title: str, dialect: str, debug: bool, count) -> None:
    options = {"ad_stack_experimental_enabled": True, "debug": debug}

    @case(
        name, title, kind="figure", unit="lines", target=None, limit_seconds=5.0, rounds=1, ours_only=True,
        options=options,
    )  # fmt: skip
    def build(qd) -> Work:
        return _text(qd, dialect, count)


for _dialect, _language in (("c", "C"), ("cuda", "CUDA")):
    for _debug in (False, True):
        _suffix, _build = ("_debug", ", debug") if _debug else ("", "")
        _title = f"1,000 pushes: {_language} for a push{_build}"
        _register(f"ad_push_{_dialect}{_suffix}", _title, _dialect, _debug, stack_lines)
