import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=8)
counts = qd.field(qd.i32, shape=8)
lock = qd.field(qd.i32, shape=1)
flag = qd.field(qd.i32, shape=1)


@qd.kernel
def example():
    for i in x:
        EXAMPLE


example()
