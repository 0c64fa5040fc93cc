"""qd.ad.Tape: records the kernels of a forward pass and runs their gradients backwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from quadrants import caller, session
from quadrants._ext import core
from quadrants.ad import overwrites
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.enums import AutodiffMode
from quadrants.runtime.arguments import Arguments
from quadrants.tapes import recording
from quadrants.tapes.clearing import clear_all_gradients
from quadrants.tapes.grad_check import GradCheck
from quadrants.tapes.losses import loss_of
from quadrants.tapes.watch import Watch

_NOT_IN_DEBUG = (
    "Debug mode is disabled, autodiff valid check will not work. Please specify `qd.init(debug=True)` to enable the "
    "check."
)


class Tape(core.Listener):
    """Context manager: what its body computes is differentiated when the body ends.

        with qd.ad.Tape(loss=y):
            forward()
        print(x.grad)

    Args:
        loss: where differentiation starts: a field of shape `()` with `needs_grad=True`, an ndarray of one element with
            `needs_grad=True`, or a torch tensor of one element with `requires_grad=True`. Set to 0 on entry.
        clear_gradients: zero the gradients of all fields on entry. Those of ndarrays and torch tensors are never
            cleared: they accumulate from tape to tape.
        validation: with `qd.init(debug=True)`, the global data access rule is checked: what a launch has read and its
            derivative needs must not be overwritten by it, by a later launch or by Python. `QuadrantsAssertionError`
            on a violation; debug mode without `validation` gives a warning.
        grad_check: list of fields whose gradients are compared with finite differences on exit, which runs the
            recorded kernels again. The loss must be f64. `AssertionError` if they disagree.

    Attributes: `calls`, a list of (callable, positional arguments) in order of recording; `modes`, in which mode each
    one ran.

    Only kernels and functions of `grad_replaced` and `no_grad` are recorded, on whatever thread they are called; what
    Python writes into fields and arrays is not. Derivatives get the arguments that launches got: numbers, vectors and
    structs are kept, and attributes that a kernel reads are put back for its derivative. If the body raises, no
    gradient is computed. Entering raises `RuntimeError` for a loss of another kind and inside another tape,
    `AssertionError` the second time.
    """

    def __init__(self, loss=None, clear_gradients: bool = True, validation: bool = False, grad_check=None):
        if grad_check is not None and not isinstance(grad_check, list):
            raise AssertionError("grad_check should be a list of fields that need to check gradients.")
        self._entries: list[_Entry] = []
        self.loss = loss
        self.clear_gradients = clear_gradients
        self.validation = validation
        self.entered = False
        self._watch: Watch | None = None
        self.gradient_evaluated = False
        self._grad_check = GradCheck(grad_check) if grad_check is not None else None
        if validation and not session.get_runtime().options.debug:
            caller.warn(_NOT_IN_DEBUG, Warning)
            self.validation = False

    def _prepare(self) -> None:
        if self.entered:
            raise AssertionError("Tape can be entered only once.")
        session.require_runtime()
        if session.is_python_backend():
            raise QuadrantsRuntimeError("The python arch computes no gradients; use another one, such as qd.cpu.")
        recording.check_free(self)
        self._start = loss_of(self.loss)
        session.get_runtime().materialize()
        self._start.check()
        if self._grad_check is not None:
            self._grad_check.check(self._start)
        self.entered = True
        if self.clear_gradients:
            clear_all_gradients()
        self._start.zero()
        if self._grad_check is not None:
            self._grad_check.save()
        self._watch = Watch(self.validation) if session.get_runtime().options.debug else None

    def _begin(self) -> None:
        if self._watch is not None:
            self._watch.start()
        recording.start(self, self._record)

    def _left(self, kind) -> None:
        if kind is None:
            self.grad()
        elif self._watch is not None:
            self._watch.stop()

    @property
    def has_grad_check(self) -> bool:
        """Whether the gradients of fields are compared with differences."""
        return self._grad_check is not None

    @property
    def calls(self) -> list:
        return [(entry.func, entry.args) for entry in self._entries]

    @property
    def modes(self) -> list:
        return [entry.mode for entry in self._entries]

    def insert(self, func, args) -> None:
        """Record a call: `func.grad(*args)` will be called on the way back, after that of every later record.

        It may bring back what was overwritten, so that what was read before it is not checked any more.
        """
        self._insert(func, tuple(args), AutodiffMode.NONE)
        if self._watch is not None:
            self._watch.forget()

    @contextmanager
    def replaced(self, func, args: tuple) -> Iterator[None]:
        """Record a call of a function with a gradient of its own; the body calls it, and nothing in it is recorded."""
        record, before = _Replaced(), core.launch_count()
        self._insert(func, args, AutodiffMode.NONE, record=record)
        with recording.paused(), self._watch.aside(func.restored(args)) if self._watch is not None else nullcontext():
            try:
                yield
                record.done = True
            finally:
                record.broken = not record.done and core.launch_count() != before

    def grad(self) -> None:
        """Run the gradients of all records backwards; called on exit. `AssertionError` before entry or a second time.

        Nothing is recorded any more once this was called.
        """
        if not self.entered:
            raise AssertionError("Before evaluating gradients tape must be entered.")
        if self.gradient_evaluated:
            raise AssertionError("Gradients of grad can be evaluated only once.")
        for entry in self._entries:
            if isinstance(entry.record, _Replaced) and entry.record.broken:
                entry.func.refuse_part()
        recording.stop(self)
        self.gradient_evaluated = True
        if self._watch is not None:
            self._watch.compare()
            self._watch.stop()
        self._start.seed()
        for func, args in reversed(self._as_they_ran()):
            # A function with a gradient of its own may bring back what it overwrote.
            with overwrites.asked(not isinstance(args, nullcontext)), args as values:
                func.grad(*values)
        if self._grad_check is not None:
            self._grad_check.run(self._as_they_ran, self._start)

    def _as_they_ran(self) -> list:
        """(callable, context in which it has the arguments of its call) of all records in order, without those of calls
        that raised.
        """
        return [
            (entry.func, nullcontext(entry.args) if entry.kept is None else entry.kept.put_back())
            for entry in self._entries
            if entry.record is None or entry.record.done
        ]

    def _record(self, kernel, args: tuple):
        mode = AutodiffMode.VALIDATION if self.validation else AutodiffMode.NONE
        watched = self._watch is not None and (self.validation or not kernel.checkpoints)
        launched = kernel._in_mode(mode if self.validation else "observe") if watched else kernel
        kept = Arguments(launched, args)
        after = partial(self._watch.launched, kernel.fn.__name__) if watched else None
        # What may stop and go on is launched by its caller.
        record = None if kernel.checkpoints and not watched else core.Record(launched, after)
        self._insert(kernel, kept.values, mode, kept, record)
        return record

    def _insert(self, func, args: tuple, mode: AutodiffMode, kept: Arguments | None = None, record=None) -> None:
        if self._grad_check is not None:
            self._grad_check.see(args)
        self._entries.append(_Entry(func, args, mode, kept, record))


class _Entry(NamedTuple):
    """One call, its arguments, in which mode it ran, and what tells whether it came to its end."""

    func: Any
    args: tuple
    mode: Any
    kept: Arguments | None
    record: Any


class _Replaced:
    """A call of a function with a gradient of its own. `broken`: it raised, and kernels had run in it."""

    done = False
    broken = False
