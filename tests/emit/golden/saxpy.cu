/* saxpy: y += a x; returns the sum of y. */

#ifdef __CUDACC_RTC__
typedef int                int32_t;
typedef long long          int64_t;
typedef unsigned int       uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

__device__ static inline float qd_atomic_add_f32(float *p, float x) {
    return atomicAdd(p, x);
}

/* The parts of all warps together. */
__device__ static inline float qd_block_add_f32(const float *parts, int32_t count) {
    float x = parts[0];
    for (int32_t k = 1; k < count; ++k)
        x = x + parts[k];
    return x;
}

/* Leaves in `parts` what x is over each warp, one element a warp. */
__device__ static inline void qd_warp_add_f32(float x, float *parts) {
    for (int32_t step = 16; step > 0; step /= 2) {
        float other = __shfl_down_sync(0xffffffffu, x, step);
        x = x + other;
    }
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = x;
}

/* A task starts while the one before it ends, where the device can do that; here it waits for that end. */
__device__ static inline void qd_grid_await_earlier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The task behind this one starts and waits for its end, where the device can do that. */
__device__ static inline void qd_grid_let_later_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct qd_args_saxpy {
    float *x;
    int32_t x_shape[1];
    float *y;
    int32_t y_shape[1];
    int32_t n;
    float a;
};

/* What the tasks of one launch share, in global memory. */
struct qd_frame_saxpy {
    float result0;
    float total;
};

namespace qd_user { /* where no function of a library has a name of the user's */


extern "C" __global__ void __launch_bounds__(1)
saxpy_0_serial(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    qd_grid_await_earlier();
    qd_grid_let_later_start();
    frame->total = 0.0f;                                                  // saxpy:3
}

extern "C" __global__ void __launch_bounds__(256)
saxpy_1_range_for(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    qd_grid_await_earlier();
    float *x = args.x;
    float *y = args.y;
    const float a = args.a;
    const int32_t n = args.n;

    const uint32_t qd_threads = gridDim.x * blockDim.x;
    const uint32_t qd_count = n > 0 ? n : 0;
    float qd_acc = 0.0f;

    const uint32_t qd_first = blockIdx.x * blockDim.x + threadIdx.x;
    /* Rounds are counted before the first, so that the loads of several can be in flight at once. */
    const uint32_t qd_rounds = qd_first < qd_count ? (qd_count - 1 - qd_first) / qd_threads + 1 : 0;
#pragma unroll 8
    for (uint32_t qd_round = 0; qd_round < qd_rounds; ++qd_round) {
        const uint32_t qd_p = qd_first + qd_round * qd_threads;
        const int32_t i = (int32_t)qd_p;
        y[i] += a * x[i];                                                 // saxpy:5
        qd_acc += y[i];                                                   // saxpy:6
    }

    __shared__ float qd_acc_parts[8];
    qd_warp_add_f32(qd_acc, qd_acc_parts);
    __syncthreads();
    if (threadIdx.x == 0) {
        qd_acc = qd_block_add_f32(qd_acc_parts, 8);
        if (qd_acc != 0.0f) {
            qd_atomic_add_f32(&frame->total, qd_acc);
        }
    }
}

extern "C" __global__ void __launch_bounds__(1)
saxpy_2_serial(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    qd_grid_await_earlier();
    qd_grid_let_later_start();
    frame->result0 = frame->total;                                        // saxpy:7
}


} /* namespace */

/* Launches, in order:
 *
 *     saxpy_0_serial      one thread
 *     saxpy_1_range_for   stride, blocks of 256
 *     saxpy_2_serial      one thread
 */
