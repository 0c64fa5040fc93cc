import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def example():
    A = qd.Matrix([[2.0, 1.0], [1.0, 3.0]])
    b, m, H = qd.Vector([1.0, 2.0]), A, A
    EXAMPLE


example()
