import quadrants as qd

qd.init(arch=qd.cuda, emulate=True)
keys = qd.field(qd.u32, shape=128)


@qd.kernel
def example():
    qd.loop_config(block_dim=128)
    for i in range(128):
        key = keys[i]
        bins = qd.simt.block.SharedArray((128,), qd.i32)
        excl_prefix = qd.simt.block.SharedArray((128,), qd.i32)
        EXAMPLE


example()
