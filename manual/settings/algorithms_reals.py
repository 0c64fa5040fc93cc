import quadrants as qd

qd.init(arch=qd.cpu)
n, count = 1000, qd.ndarray(qd.i32, 1)
count[0] = n
scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
arr, out = qd.ndarray(qd.f32, n), qd.ndarray(qd.f32, n)


@qd.kernel
def example(arr: qd.types.ndarray(), out: qd.types.ndarray(), scratch: qd.types.ndarray(), count: qd.types.ndarray()):
    EXAMPLE


example(arr, out, scratch, count)
