"""Measure kernels on quantised fields beside the reference package, in alternation.

    python bench/quant.py --peer PYTHON [--arch cpu] [--rounds 7] [--only NAME] [--quick]

PYTHON is an interpreter that has the reference package (`pip install quadrants==1.3.3` in an environment of its own).
Each case of each package runs in a process of its own; the two take turns. The table has the fastest turn of each, and
how many times ours the reference took: above 1 is slower than ours. A case whose process ends says so: the reference
does not survive the game of life on cells of a bit, nor with bit_vectorize what "stencil" does, which is the work of
the game of life with other signs. The plain saxpy, on fields of f32, is there to compare with.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

CASES = (
    "saxpy plain", "saxpy 13/19 bits", "saxpy fixed", "copy cells", "copy words", "stencil cells", "stencil words",
    "life words",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="the interpreter that has the reference package")
    parser.add_argument("--arch", default="cpu", help="where kernels run (default: cpu)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name starts with NAME")
    parser.add_argument("--quick", action="store_true", help="tiny fields; measures nothing")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options)
        return
    pythons = {"ours": sys.executable, **({"reference": options.peer} if options.peer else {})}
    print(f"{'':20}" + "".join(f"{name:>14}" for name in pythons) + "   times ours")
    for case in (case for case in CASES if case.startswith(options.only)):
        workers = {name: Worker(python, case, options) for name, python in pythons.items()}
        best: dict[str, float] = {}
        for _ in range(options.rounds):
            for name, worker in workers.items():
                seconds = worker.turn()
                if seconds is not None:
                    best[name] = min(seconds, best.get(name, seconds))
        cells = "".join(f"{best[n] * 1e3:11.3f} ms" if n in best else f"{'ended':>14}" for n in workers)
        both = "ours" in best and "reference" in best
        print(f"{case:20}{cells}" + (f"   {best['reference'] / best['ours']:.2f}" if both else ""), flush=True)
        for worker in workers.values():
            worker.close()


class Worker:
    """A process that runs a case once for each line that it reads."""

    def __init__(self, python: str, case: str, options: argparse.Namespace):
        command = [python, str(Path(__file__).resolve()), "--worker", case, "--arch", options.arch]
        self.process = subprocess.Popen(
            command + ["--quick"] * options.quick, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def turn(self) -> float | None:
        """Seconds of one launch, of several in a row; None when the process has ended."""
        try:
            print("turn", file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return None
        while text := self.process.stdout.readline():
            if text.startswith("answer "):
                return json.loads(text.removeprefix("answer "))
        return None

    def close(self) -> None:
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended, which the table says
        self.process.wait()


def work(case: str, options: argparse.Namespace) -> None:
    """The loop of a worker."""
    import quadrants as qd

    qd.init(arch=getattr(qd, options.arch), log_level=qd.ERROR)
    # Larger than the caches of a GPU.
    many, edge = (10, 6) if options.quick else (22, 11) if options.arch == "cpu" else (28, 15)
    launch = _saxpy(qd, case, 1 << many) if case.startswith("saxpy") else _bits(qd, case, 1 << edge)
    launch()
    qd.sync()
    for _ in sys.stdin:
        began, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - began < 0.2 and not options.quick:
            launch()
            count += 1
        qd.sync()
        print("answer", json.dumps((time.perf_counter() - began) / count), flush=True)


def _saxpy(qd, case: str, n: int):
    """y += a * x, in one word where x and y are quantised."""
    q = qd.types.quant
    kinds = {
        "saxpy plain": (qd.f32, qd.f32, 0.5),
        "saxpy 13/19 bits": (q.int(13), q.int(19), 3),
        "saxpy fixed": (q.fixed(13, max_value=2.0), q.fixed(19, max_value=64.0), 0.25),
    }
    first, second, a = kinds[case]
    x, y = qd.field(first), qd.field(second)
    if case == "saxpy plain":
        qd.root.dense(qd.i, n).place(x)
        qd.root.dense(qd.i, n).place(y)
    else:
        word = qd.BitpackedFields(max_num_bits=32)
        word.place(x, y)
        qd.root.dense(qd.i, n).place(word)

    @qd.kernel
    def launch():
        for i in x:
            y[i] += a * x[i]

    return launch


def _bits(qd, case: str, n: int):
    """Cells of one bit on a square; what lies beyond its borders is memory of other fields, and not looked at."""
    kind = qd.types.quant.int(1, case.startswith("stencil"))

    def square():
        x = qd.field(kind)
        qd.root.dense(qd.ij, (n, n // 32)).quant_array(qd.j, 32, max_num_bits=32).place(x)
        return x

    def between():
        qd.root.dense(qd.i, 1 << 14).place(qd.field(qd.i32))

    between()
    x, y = square(), square()
    between()
    by_word = case.endswith("words")

    @qd.kernel
    def copy():
        qd.loop_config(bit_vectorize=by_word)
        for i, j in x:
            y[i, j] = x[i, j]

    @qd.kernel
    def life():
        qd.loop_config(bit_vectorize=by_word)
        for i, j in x:
            total = 0
            total += x[i - 1, j - 1]
            total += x[i - 1, j]
            total += x[i - 1, j + 1]
            total += x[i, j - 1]
            total += x[i, j + 1]
            total += x[i + 1, j - 1]
            total += x[i + 1, j]
            total += x[i + 1, j + 1]
            y[i, j] = (total == 3) | ((total == 2) & (x[i, j] == 1))

    return copy if case.startswith("copy") else life


if __name__ == "__main__":
    main()
