import quadrants as qd

qd.init(arch=qd.cuda, emulate=True)
a = qd.field(qd.f32, shape=128)


@qd.kernel
def example():
    qd.loop_config(block_dim=128)
    for i in range(128):
        key = qd.cast(127 - i, qd.u32)
        EXAMPLE


example()
