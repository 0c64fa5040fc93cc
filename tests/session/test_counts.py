"""What the runtime counts: compiled specialisations and living ndarrays."""

import gc

import quadrants as qd


def test_specialisations_and_ndarrays_are_counted(arch):
    runtime = qd.lang.impl.get_runtime()
    kernels, arrays = runtime.get_num_compiled_functions(), runtime.prog._get_num_ndarrays()

    @qd.kernel
    def double(x: qd.types.ndarray()):
        for i in x:
            x[i] *= 2

    a, b = qd.ndarray(qd.f32, 4), qd.ndarray(qd.i32, 4)
    double(a)
    double(a)
    double(b)
    assert runtime.get_num_compiled_functions() == kernels + 2
    assert runtime.prog._get_num_ndarrays() == arrays + 2
    with_grad = qd.ndarray(qd.f32, 4, needs_grad=True)
    assert runtime.prog._get_num_ndarrays() == arrays + 4
    del with_grad, b
    gc.collect()
    assert runtime.prog._get_num_ndarrays() == arrays + 1
