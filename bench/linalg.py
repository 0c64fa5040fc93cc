"""Measure qd.linalg beside other packages on the same systems, in alternation.

    python bench/linalg.py --peer PYTHON [--arch cpu] [--rounds 5] [--only NAME] [--quick]

PYTHON is an interpreter that has the reference package (`pip install quadrants==1.3.3` in an environment of its own).
SciPy is measured by this interpreter, and cupyx where --arch is cuda and CuPy is installed. Each package runs in a
process of its own; the processes take turns, one solution a turn, and those whose turn it is not wait for a line of
input. The table has the fastest turn of each, and how many times ours it took: above 1 is slower than ours.
The reference compiles its matrix-free solvers at every call; that is in its time.
"""

import argparse
import importlib.util
import inspect
import json
import subprocess
import sys
import time
from pathlib import Path

CASES = ("matrix-free cg", "matrix-free bicgstab", "assemble", "sparse cg", "product", "lu")
ITERATIONS = 400  # of the matrix-free solvers, which never get below their tolerance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="the interpreter that has the reference package")
    parser.add_argument("--arch", default="cpu", help="where kernels run (default: cpu)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name starts with NAME")
    parser.add_argument("--quick", action="store_true", help="tiny systems; measures nothing")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    subjects = {"ours": (sys.executable, "qd"), "scipy": (sys.executable, "scipy")}
    if options.peer:
        subjects["reference"] = (options.peer, "qd")
    if options.arch == "cuda" and importlib.util.find_spec("cupyx"):
        subjects["cupyx"] = (sys.executable, "cupyx")
    workers = {name: Worker(python, kind, options) for name, (python, kind) in subjects.items()}
    print(f"{'':22}" + "".join(f"{name:>14}" for name in workers) + "   times ours")
    for case in filter(lambda c: c.startswith(options.only), CASES):
        best: dict[str, dict] = {}
        for _ in range(options.rounds + 1):  # the first one compiles
            for name, worker in workers.items():
                answer = worker.ask(case)
                if "seconds" in answer and answer["seconds"] < best.get(name, answer)["seconds"] or name not in best:
                    best[name] = answer
        print(line(case, best, workers))
    for worker in workers.values():
        worker.close()


def line(case: str, best: dict, names) -> str:
    cells = "".join(f"{best[n]['seconds'] * 1e3:11.1f} ms" if "seconds" in best[n] else f"{'-':>14}" for n in names)
    ours = best["ours"].get("seconds")
    ratios = [f"{n} {best[n]['seconds'] / ours:.2f}" for n in names if n != "ours" and ours and "seconds" in best[n]]
    wrong = [f"  {n}: {best[n]['error']}" for n in names if best[n].get("error")]
    return f"{case:22}{cells}   {', '.join(ratios)}" + "".join(f"\n{w}" for w in wrong)


class Worker:
    """A process that solves one system for each line that it reads."""

    def __init__(self, python: str, kind: str, options: argparse.Namespace):
        command = [python, str(Path(__file__).resolve()), "--worker", kind, "--arch", options.arch]
        self.process = subprocess.Popen(
            command + ["--quick"] * options.quick, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, case: str) -> dict:
        print(case, file=self.process.stdin, flush=True)
        while text := self.process.stdout.readline():
            if text.startswith("answer "):
                return json.loads(text.removeprefix("answer "))
        raise SystemExit(f"a worker ended in the case {case!r}")

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def work(options: argparse.Namespace) -> None:
    """The loop of a worker: `residual` says how good the last solution is, so that nobody wins by stopping early."""
    n2, n3, nlu = (64, 12, 20) if options.quick else (512, 100, 120)
    make = {"qd": _quadrants, "scipy": _scipy, "cupyx": _cupyx}[options.worker]
    cases = make(options.arch, n2, n3, nlu)
    for text in sys.stdin:
        case = text.strip()
        if case not in cases:
            answer = {}
        else:
            try:
                prepare, run, check = cases[case]
                state = prepare()
                began = time.perf_counter()
                result = run(state)
                answer = {"seconds": time.perf_counter() - began, "error": check(result)}
            except Exception as error:  # told in the table
                answer = {"error": f"{type(error).__name__}: {error}"}
        print("answer", json.dumps(answer), flush=True)


def _quadrants(arch: str, n2: int, n3: int, nlu: int) -> dict:
    import numpy as np

    import quadrants as qd

    qd.init(arch=getattr(qd, arch), log_level=qd.ERROR)
    b, x = qd.field(qd.f32, (n2, n2)), qd.field(qd.f32, (n2, n2))
    b.from_numpy(np.random.default_rng(0).standard_normal((n2, n2)).astype(np.float32))

    @qd.kernel
    def laplacian(x: qd.template(), Ax: qd.template()):
        for i, j in x:
            left = x[i - 1, j] if i > 0 else 0.0
            right = x[i + 1, j] if i < n2 - 1 else 0.0
            low = x[i, j - 1] if j > 0 else 0.0
            high = x[i, j + 1] if j < n2 - 1 else 0.0
            Ax[i, j] = 4.0 * x[i, j] - left - right - low - high

    @qd.kernel
    def fill(K: qd.types.sparse_matrix_builder()):
        for i, j, k in qd.ndrange(n3, n3, n3):
            row = (i * n3 + j) * n3 + k
            K[row, row] += 6.0
            if i > 0:
                K[row, row - n3 * n3] -= 1.0
            if i < n3 - 1:
                K[row, row + n3 * n3] -= 1.0
            if j > 0:
                K[row, row - n3] -= 1.0
            if j < n3 - 1:
                K[row, row + n3] -= 1.0
            if k > 0:
                K[row, row - 1] -= 1.0
            if k < n3 - 1:
                K[row, row + 1] -= 1.0

    @qd.kernel
    def fill_plane(K: qd.types.sparse_matrix_builder()):
        for i, j in qd.ndrange(nlu, nlu):
            row = i * nlu + j
            K[row, row] += 4.0
            if i > 0:
                K[row, row - nlu] -= 1.0
            if i < nlu - 1:
                K[row, row + nlu] -= 1.0
            if j > 0:
                K[row, row - 1] -= 1.0
            if j < nlu - 1:
                K[row, row + 1] -= 1.0

    def builder(n, each):
        return qd.linalg.SparseMatrixBuilder(n, n, max_num_triplets=each * n)

    def assembled():
        made = builder(n3**3, 7)
        fill(made)
        qd.sync()
        return made.build()

    plane_builder = builder(nlu**2, 5)
    fill_plane(plane_builder)
    cube, plane = assembled(), plane_builder.build()
    right, flat = np.ones(n3**3, np.float32), np.ones(nlu**2, np.float32)
    vector = qd.ndarray(qd.f32, n3**3)
    vector.fill(1)

    def solve(solver):
        solver(qd.linalg.LinearOperator(laplacian), b, x, tol=1e-30, maxiter=ITERATIONS)
        qd.sync()

    def factor_and_solve(_):
        solver = qd.linalg.SparseSolver(solver_type="LU")
        solver.compute(plane)
        return solver.solve(flat)

    def multiply(_):
        for _ in range(20):
            result = cube @ vector
        qd.sync()
        return result

    def sparse_cg(_):
        # The reference takes arrays of NumPy on the CPU alone.
        b = right if arch == "cpu" else vector
        return qd.linalg.SparseCG(cube, b, max_iter=2000, atol=1e-5).solve()[0]

    def numbers(y):
        return y if isinstance(y, np.ndarray) else y.to_numpy()

    return {
        "matrix-free cg": (lambda: x.fill(0), lambda _: solve(qd.linalg.MatrixFreeCG), lambda _: ""),
        "matrix-free bicgstab": (lambda: x.fill(0), lambda _: solve(qd.linalg.MatrixFreeBICGSTAB), lambda _: ""),
        "assemble": (lambda: None, lambda _: assembled(), lambda A: _off(A @ right, _cube_ones(n3), 1e-5)),
        "sparse cg": (lambda: None, sparse_cg, lambda y: _off(cube @ numbers(y), right, 2e-3)),
        "product": (lambda: None, multiply, lambda y: _off(numbers(y), _cube_ones(n3), 1e-5)),
        "lu": (lambda: None, factor_and_solve, lambda y: _off(plane @ y, flat, 1e-3)),
    }


def _scipy(arch: str, n2: int, n3: int, nlu: int) -> dict:
    import numpy as np
    import scipy.sparse as sparse
    from scipy.sparse.linalg import cg, splu

    return _on_host(np, sparse, cg, splu, n3, nlu, lambda: None)


def _cupyx(arch: str, n2: int, n3: int, nlu: int) -> dict:
    import cupy
    import cupyx.scipy.sparse as sparse
    from cupyx.scipy.sparse.linalg import cg, splu

    return _on_host(cupy, sparse, cg, splu, n3, nlu, cupy.cuda.get_current_stream().synchronize)


def _on_host(np, sparse, cg, splu, n3: int, nlu: int, wait) -> dict:
    """The sparse cases with the interface that SciPy and cupyx share; triplets are there before the clock starts."""

    def laplacian(n, axes):
        line = sparse.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csr")
        result = line
        for _ in range(axes - 1):
            size = result.shape[0]
            result = sparse.kron(result, sparse.eye(n)) + sparse.kron(sparse.eye(size), line)
        return result.astype(np.float32)

    cube, plane = laplacian(n3, 3).tocsr(), laplacian(nlu, 2).tocsc()
    triplets = cube.tocoo()
    right, flat = np.ones(n3**3, np.float32), np.ones(nlu**2, np.float32)
    inverse = sparse.diags(1 / cube.diagonal(), format="csr")
    relative = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 1e-5}  # older releases of cupyx

    def done(result):
        wait()
        return result

    def multiply(_):
        for _ in range(20):
            result = cube @ right
        return done(result)

    def assemble(_):
        made = sparse.coo_matrix((triplets.data, (triplets.row, triplets.col)), shape=cube.shape)
        return done(made.tocsc())

    def off(a, b, tol):
        return _off(a, b, tol, np)

    return {
        "assemble": (lambda: None, assemble, lambda A: off(A @ right, cube @ right, 1e-5)),
        "sparse cg": (
            lambda: None,
            lambda _: done(cg(cube, right, M=inverse, atol=0, maxiter=2000, **relative)[0]),
            lambda y: off(cube @ y, right, 2e-3),
        ),
        "product": (lambda: None, multiply, lambda y: ""),
        "lu": (lambda: None, lambda _: done(splu(plane).solve(flat)), lambda y: off(plane @ y, flat, 1e-3)),
    }


def _cube_ones(n: int):
    """The product of the matrix of the cube and ones: how many neighbours of a point are missing."""
    import numpy as np

    i = np.arange(n)
    edge = (i == 0).astype(np.float32) + (i == n - 1)
    return (edge[:, None, None] + edge[None, :, None] + edge[None, None, :]).ravel()


def _off(found, expected, tolerance: float, np=None) -> str:
    """What is wrong with a result; "" if nothing."""
    if np is None:
        import numpy as np
    error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return "" if error < tolerance else f"wrong by {error:.1e}"


if __name__ == "__main__":
    main()
