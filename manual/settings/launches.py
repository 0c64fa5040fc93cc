import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=8)
stream, ticks = qd.create_stream(), 1000


@qd.kernel
def step():
    for i in x:
        x[i] += 1.0


EXAMPLE
