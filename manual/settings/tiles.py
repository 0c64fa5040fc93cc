import quadrants as qd

qd.init(arch=qd.cuda, emulate=True)


@qd.kernel
def example():
    qd.loop_config(block_dim=32)
    for i in range(32):
        tile = qd.simt.Tile16x16.zeros()
        a, b = qd.cast(i, qd.f32), 1.0
        EXAMPLE


example()
