import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def example(x: qd.i32, a: qd.i32, b: qd.i32, mask: qd.u32):
    EXAMPLE


example(96, 7, 3, 255)
