import quadrants as qd

qd.init(arch=qd.cpu)
x, b = qd.field(qd.f32, shape=100), qd.field(qd.f32, shape=100)
b.fill(1.0)


@qd.kernel
def twice(x: qd.template(), Ax: qd.template()):
    for i in x:
        Ax[i] = 2.0 * x[i]


A = qd.linalg.LinearOperator(twice)
EXAMPLE
