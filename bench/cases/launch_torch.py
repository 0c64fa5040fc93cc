"""Launch latency with torch tensors, which lie where kernels reach them."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

from . import Work, case, differs
from .launch import GPU

N = 16


@case("launch_torch_1", "launch, 1 torch tensor", unit="us", target=0.25, needs="torch")
def launch_tensor(qd) -> Work:
    import torch

    x = torch.zeros(N)

    @qd.kernel
    def step(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(N):
            x[i] = x[i] * 0.5 + 1.0

    def run(n: int) -> None:
        for _ in range(n):
            step(x)
        qd.sync()

    def check() -> str | None:
        run(200)
        return differs("x", x.numpy(), [2.0] * N)

    return Work(run, check)


@case("launch_torch_4", "launch, 4 torch tensors", unit="us", target=0.25, limit_seconds=4e-6, needs="torch")
def launch_tensors(qd) -> Work:
    import torch

    tensors = [torch.full((N,), float(k)) for k in range(4)]
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(a: arr, b: arr, c: arr, d: arr):
        for i in range(N):
            a[i] = b[i] + c[i] + d[i] + 1.0

    def run(n: int) -> None:
        a, b, c, d = tensors
        for _ in range(n):
            step(a, b, c, d)
        qd.sync()

    return Work(run, lambda: differs("a", tensors[0].numpy(), [7.0] * N))


@case("gpu_launch_torch_3", "launch, 3 torch tensors", needs="torch", **{**GPU, "limit_seconds": 6e-6})
def launch_three_tensors(qd) -> Work:
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"
    tensors = [torch.full((N,), float(k), device=place) for k in range(3)]
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(a: arr, b: arr, c: arr):
        for i in range(N):
            a[i] = b[i] + c[i] + 1.0

    def run(n: int) -> None:
        a, b, c = tensors
        for _ in range(n):
            step(a, b, c)
        qd.sync()

    return Work(run, lambda: differs("a", tensors[0].cpu().numpy(), [4.0] * N))
