import quadrants as qd

qd.init(arch=qd.cpu)
n, count = 1000, qd.ndarray(qd.i32, 1)
count[0] = n
scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
keys, keys_out, num_runs = qd.ndarray(qd.i32, n), qd.ndarray(qd.i32, n), qd.ndarray(qd.i32, 1)
values, sums = qd.ndarray(qd.f32, n), qd.ndarray(qd.f32, n)


@qd.kernel
def example(
    keys: qd.types.ndarray(),
    values: qd.types.ndarray(),
    keys_out: qd.types.ndarray(),
    sums: qd.types.ndarray(),
    num_runs: qd.types.ndarray(),
    scratch: qd.types.ndarray(),
    count: qd.types.ndarray(),
):
    EXAMPLE


example(keys, values, keys_out, sums, num_runs, scratch, count)
