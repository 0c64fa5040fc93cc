"""Reverse mode of a loop that carries a value, and what a launch of it costs."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import gc
import time

import numpy as np

from . import Ceiling, Work, case, ceilings, differs

TRIPS = 16
OPTIONS = {"options": {"ad_stack_experimental_enabled": True}, "modules": ("quadrants",)}


class Recurrence:
    """v = sin(v) * 1.01 + 0.1, `TRIPS` times for each of `n` start values; the loss is the sum of v * v."""

    def __init__(self, qd, n: int) -> None:
        self.qd = qd
        self.x = x = qd.field(qd.f32, shape=n, needs_grad=True)
        self.loss = loss = qd.field(qd.f32, shape=(), needs_grad=True)
        trips = qd.field(qd.i32, shape=())

        @qd.kernel
        def iterate():
            for i in x:
                v = x[i]
                for _ in range(trips[None]):
                    v = qd.sin(v) * 1.01 + 0.1
                loss[None] += v * v

        self.kernel = iterate
        self.x0 = np.random.default_rng(5).uniform(0, 1, n).astype(np.float32)
        x.from_numpy(self.x0)
        trips[None] = TRIPS
        loss.grad[None] = 1.0

    def work(self, launch) -> Work:
        def run(n: int) -> None:
            for _ in range(n):
                launch()
            self.qd.sync()

        return Work(run, self.check, result=lambda: [self.total])

    def check(self) -> str | None:
        """One pass forward and one backward, against float64."""
        self.loss[None] = 0.0
        self.x.grad.fill(0.0)
        self.kernel()
        self.kernel.grad()
        v, slope = self.x0.astype(np.float64), np.ones(self.x0.size)
        for _ in range(TRIPS):
            slope *= 1.01 * np.cos(v)
            v = np.sin(v) * 1.01 + 0.1
        gradient = self.x.grad.to_numpy()
        self.total = float(gradient.sum(dtype=np.float64))
        return differs("x.grad", gradient, 2 * v * slope, rtol=1e-3, atol=1e-5) or differs(
            "loss", self.loss[None], (v * v).sum(), rtol=1e-2
        )


@case("ad_recurrence", "16 trips of v = sin(v), 400,000 starts", target=None, **OPTIONS)
def recurrence_forward(qd) -> Work:
    r = Recurrence(qd, 400_000)
    return r.work(r.kernel)


@case("ad_recurrence_grad", "the same, backward", target=1.0, **OPTIONS)
def recurrence_backward(qd) -> Work:
    r = Recurrence(qd, 400_000)
    return r.work(r.kernel.grad)


GPU = {
    "rows": "gpu", "unit": "Giter/s", "size": 4_000_000, "tiny": 1000, "amount": lambda n: float(n * TRIPS), **OPTIONS,
}  # fmt: skip


@case("gpu_ad_recurrence", "16 trips of v = sin(v), 4M starts", target=None, **GPU)
def gpu_recurrence_forward(qd, n: int) -> Work:
    r = Recurrence(qd, n)
    return r.work(r.kernel)


@case(
    "gpu_ad_recurrence_grad", "the same, backward", target=1 / 4,
    ceilings=(Ceiling("RawKernel", ceilings.recurrence, lambda n: float(n * TRIPS)),), **GPU,
)  # fmt: skip
def gpu_recurrence_backward(qd, n: int) -> Work:
    r = Recurrence(qd, n)
    return r.work(r.kernel.grad)


# ---------------------------------------------------------------- launches

STARTS = 16
LAUNCHES = 2000


class Sized:
    """A derivative of 16 iterations whose inner loops are as long as an array says."""

    def __init__(self, qd) -> None:
        self.qd = qd
        x = qd.field(qd.f32, shape=STARTS, needs_grad=True)
        loss = qd.field(qd.f32, shape=(), needs_grad=True)
        array = qd.types.ndarray(dtype=qd.i32, ndim=1)

        @qd.kernel
        def by_array(trips: array):
            for i in x:
                v = x[i]
                for _ in range(trips[i]):
                    v = qd.sin(v)
                loss[None] += v

        @qd.kernel
        def by_number(trips: array):
            for i in x:
                v = x[i]
                for _ in range(4):
                    v = qd.sin(v)
                loss[None] += v + 0.0 * trips[i]

        self.x, self.by_array, self.by_number = x, by_array, by_number
        self.trips = qd.ndarray(qd.i32, shape=(STARTS,))
        self.trips.from_numpy(np.full(STARTS, 4, np.int32))
        x.from_numpy(np.linspace(0, 1, STARTS, dtype=np.float32))
        loss.grad[None] = 1.0

    def run(self, kernel, n: int) -> None:
        for _ in range(n):
            kernel.grad(self.trips)
        self.qd.sync()

    def check(self) -> str | None:
        v, slope = np.linspace(0, 1, STARTS), np.ones(STARTS)
        for _ in range(4):
            slope *= np.cos(v)
            v = np.sin(v)
        for kernel in (self.by_array, self.by_number):
            self.x.grad.fill(0.0)
            self.run(kernel, 1)
            problem = differs("x.grad", self.x.grad.to_numpy(), slope, rtol=1e-4)
            if problem is not None:
                return problem
        return None


LAUNCH = {"unit": "us", "batch_seconds": 0.05, **OPTIONS}


@case("ad_launch", "launch of a derivative sized by an array", target=0.25, **LAUNCH)
@case("gpu_ad_launch", "launch of a derivative sized by an array", rows="gpu", target=0.4, **LAUNCH)
def launch_sized(qd) -> Work:
    sized = Sized(qd)
    return Work(lambda n: sized.run(sized.by_array, n), sized.check)


@case("ad_sizes", "of it, what finding the sizes takes", target=None, limit_seconds=5e-6, **LAUNCH)
@case("gpu_ad_sizes", "of it, what finding the sizes takes", rows="gpu", target=None, limit_seconds=5e-6, **LAUNCH)
def sizes(qd) -> Work:
    """The difference to a kernel whose loops are as long as the text says, over 2,000 launches of each."""
    sized = Sized(qd)

    def seconds(kernel) -> float:
        sized.qd.sync()
        start = time.perf_counter()
        sized.run(kernel, LAUNCHES)
        return (time.perf_counter() - start) / LAUNCHES

    def difference(_: int) -> float:
        return seconds(sized.by_array) - seconds(sized.by_number)

    return Work(lambda n: sized.run(sized.by_array, n), sized.check, difference=difference)


@case(
    "ad_forward", "launch of a kernel while another keeps sizes, against none", unit="x", target=None, ours_only=True,
    limit_seconds=1.01, options=OPTIONS["options"],
)  # fmt: skip
def forward_beside_kept(qd) -> Work:
    """The time of a launch while a derivative keeps its sizes, divided by the time without; best batches of each."""
    y = qd.field(qd.f32, shape=STARTS)

    @qd.kernel
    def forward(step: qd.f32):
        for i in y:
            y[i] += step

    def best() -> float:
        batches = []
        for _ in range(20):
            start = time.perf_counter()
            run(LAUNCHES)
            batches.append(time.perf_counter() - start)
        return min(batches)

    def difference(_: int) -> float:
        without, beside = [], []
        for _ in range(5):
            without.append(best())
            sized = Sized(qd)
            sized.run(sized.by_array, 2)
            beside.append(best())
            del sized
            gc.collect()
        return min(beside) / min(without)

    def check() -> str | None:
        y.fill(0.0)
        forward(2.0)
        return differs("y", y.to_numpy(), np.full(STARTS, 2.0), rtol=0)

    def run(n: int) -> None:
        for _ in range(n):
            forward(1.0)
        qd.sync()

    return Work(run, check, difference=difference)
