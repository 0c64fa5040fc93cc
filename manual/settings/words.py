import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.i32, shape=8)


@qd.kernel
def example():
    for i in x:
        EXAMPLE


example()
