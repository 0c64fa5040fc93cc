import quadrants as qd

qd.init(arch=qd.cpu)
n, count = 1000, qd.ndarray(qd.i32, 1)
count[0] = n
scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
keys, tmp_keys, values, tmp_values = (qd.ndarray(qd.u32, n) for _ in range(4))


@qd.kernel
def example(
    keys: qd.types.ndarray(),
    tmp_keys: qd.types.ndarray(),
    values: qd.types.ndarray(),
    tmp_values: qd.types.ndarray(),
    scratch: qd.types.ndarray(),
    n: qd.i32,
):
    EXAMPLE


example(keys, tmp_keys, values, tmp_values, scratch, n)
