"""Gradient descent by a tape, kernels with derivatives, a function that replaces one."""

import quadrants as qd

qd.init(arch=qd.cpu, default_fp=qd.f64)

x = qd.field(qd.f64, shape=8, needs_grad=True)
target = qd.field(qd.f64, shape=8)
loss = qd.field(qd.f64, shape=(), needs_grad=True)


@qd.kernel
def distance():
    for i in x:
        loss[None] += (x[i] - target[i]) ** 2


@qd.kernel
def descend(rate: qd.f64):
    for i in x:
        x[i] -= rate * x.grad[i]


@qd.ad.grad_replaced
def measured() -> None:
    distance()


@qd.ad.grad_for(measured)
def measured_grad() -> None:
    distance.grad()


target.fill(2.0)
history: list[float] = []
for _ in range(30):
    with qd.ad.Tape(loss=loss):
        distance()
    history.append(loss[None])
    descend(0.2)
assert history[-1] < 1e-6 * history[0]

qd.ad.clear_all_gradients()
loss.grad[None] = 1.0
distance.grad()
with qd.ad.Tape(loss) as tape:
    measured()
print(x.grad[0], tape.calls, x.grad.to_numpy())
