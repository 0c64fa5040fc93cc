import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel(graph=True, checkpoints=True)
def launched(x: qd.types.ndarray(qd.i32, 1), flag: qd.types.ndarray(qd.i32, 0)):
    EXAMPLE


x, flag = qd.ndarray(qd.i32, 8), qd.ndarray(qd.i32, ())
launched(x, flag)
