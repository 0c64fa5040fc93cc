import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32)
block = qd.root.pointer(qd.i, 4)
block.dense(qd.i, 4).place(x)
items = qd.field(qd.i32)
qd.root.dense(qd.i, 16).dynamic(qd.j, 16).place(items)


@qd.kernel
def example():
    for i in range(4):
        EXAMPLE


example()
