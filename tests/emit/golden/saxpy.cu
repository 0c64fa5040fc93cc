/* saxpy: y += a x; returns the sum of y. */

#ifdef __CUDACC_RTC__
typedef int                int32_t;
typedef unsigned int       uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

__device__ static inline uint32_t qd_bit_cast_f32_u32(float x) {
    union {
        float from;
        uint32_t to;
    } bits;
    bits.from = x;
    return bits.to;
}

__device__ static inline float qd_bit_cast_u32_f32(uint32_t x) {
    union {
        uint32_t from;
        float to;
    } bits;
    bits.from = x;
    return bits.to;
}

__device__ static inline float qd_atomic_add_f32(float *p, float x) {
    return atomicAdd(p, x);
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


extern "C" __global__ void __launch_bounds__(1)
saxpy_0_serial(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    frame->total = 0.0f;                                                  // saxpy:1
}

extern "C" __global__ void __launch_bounds__(128)
saxpy_1_range_for(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    float *x = args.x;
    float *y = args.y;
    const float a = args.a;
    const int32_t n = args.n;
    const uint32_t qd_thread = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t qd_threads = gridDim.x * blockDim.x;
    const uint32_t qd_count = n > 0 ? n : 0;
    float qd_acc = 0.0f;
    for (uint32_t qd_p = qd_thread; qd_p < qd_count; qd_p += qd_threads) {
        const int32_t i = (int32_t)qd_p;
        qd_atomic_add_f32(&y[i], a * x[i]);                               // saxpy:3
        qd_acc += y[i];                                                   // saxpy:4
    }
    if (qd_acc != 0.0f) {
        qd_atomic_add_f32(&frame->total, qd_acc);
    }
}

extern "C" __global__ void __launch_bounds__(1)
saxpy_2_serial(const __grid_constant__ qd_args_saxpy args, qd_frame_saxpy *frame)
{
    frame->result0 = frame->total;                                        // saxpy:5
}


/* Launches, in order:
 *
 *     saxpy_0_serial      one thread
 *     saxpy_1_range_for   range_for, blocks of 128
 *     saxpy_2_serial      one thread
 */
