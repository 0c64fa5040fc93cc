import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=3, needs_grad=True, needs_dual=True)
y = qd.field(qd.f32, shape=(), needs_grad=True, needs_dual=True)


@qd.kernel
def squares():
    for i in x:
        y[None] += x[i] ** 2


def forward():
    squares()


EXAMPLE
