import quadrants as qd

qd.init(arch=qd.cuda, emulate=True)
a, x, first = qd.field(qd.i32, shape=128), qd.field(qd.i32, shape=128), qd.field(qd.i32, shape=128)


@qd.func
def add(p, q):
    return p + q


@qd.kernel
def example():
    qd.loop_config(block_dim=128)
    for i in range(128):
        lane, mask = qd.simt.subgroup.invocation_id(), qd.u32(0xFFFFFFFF)
        EXAMPLE


example()
