import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel(graph=True)
def example(x: qd.types.ndarray(qd.i32, 1), go: qd.types.ndarray(qd.i32, 0)):
    EXAMPLE


x, go = qd.ndarray(qd.i32, 8), qd.ndarray(qd.i32, ())
go[None] = 1
example(x, go)
