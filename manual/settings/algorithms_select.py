import quadrants as qd

qd.init(arch=qd.cpu)
n, count = 1000, qd.ndarray(qd.i32, 1)
count[0] = n
scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
arr, flags, out, num_out = (qd.ndarray(t, n) for t in (qd.f32, qd.i32, qd.f32, qd.i32))


@qd.kernel
def example(
    arr: qd.types.ndarray(),
    flags: qd.types.ndarray(),
    out: qd.types.ndarray(),
    num_out: qd.types.ndarray(),
    scratch: qd.types.ndarray(),
    count: qd.types.ndarray(),
):
    EXAMPLE


example(arr, flags, out, num_out, scratch, count)
