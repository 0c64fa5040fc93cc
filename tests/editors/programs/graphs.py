"""Kernels that are launched as one graph: loops on the device, branches in parallel, streams."""

import quadrants as qd

qd.init(arch=qd.cpu)

N = 32


@qd.kernel(graph=True)
def relax(a: qd.types.ndarray(dtype=qd.f32, ndim=1), go: qd.types.ndarray(dtype=qd.i32, ndim=0)):
    while qd.graph.do_while(go):
        for i in a:
            a[i] = a[i] * 0.5
        for _ in range(1):
            go[None] = 0
            if a[0] > 0.1:
                go[None] = 1


@qd.kernel
def scale(a: qd.types.ndarray(dtype=qd.f32, ndim=1), by: qd.f32):
    for i in a:
        a[i] *= by


a = qd.ndarray(qd.f32, N)
a.fill(1.0)
go = qd.ndarray(qd.i32, ())
go.fill(1)
relax(a, go)
stream = qd.create_stream()
event = qd.create_event()
scale(a, 2.0, qd_stream=stream)
event.record(stream)
stream.synchronize()
qd.sync()
value: float = a[0]
assert value < 0.2
stream.destroy()
print(value, relax, scale.source)
