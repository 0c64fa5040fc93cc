/* saxpy: y += a x; returns the sum of y. */

#include <metal_stdlib>
using namespace metal;

namespace qd_real = metal::fast;

static inline float qd_atomic_add_f32_device(device float *p, float x) {
    return atomic_fetch_add_explicit((device atomic_float *)p, x, memory_order_relaxed);
}

/* The parts of all warps together. */
static inline float qd_block_add_f32(threadgroup const float *parts, int32_t count) {
    float x = parts[0];
    for (int32_t k = 1; k < count; ++k)
        x = x + parts[k];
    return x;
}

/* Leaves in `parts` what x is over each warp, one element a warp. */
static inline void qd_warp_add_f32(uint32_t in_block, float x, threadgroup float *parts) {
    for (int32_t step = 16; step > 0; step /= 2) {
        float other = simd_shuffle_down(x, (ushort)step);
        x = x + other;
    }
    if (in_block % 32 == 0)
        parts[in_block / 32] = x;
}

struct qd_args_saxpy {
    device float *x;
    int32_t x_shape[1];
    device float *y;
    int32_t y_shape[1];
    int32_t n;
    float a;
};

/* What the tasks of one launch share, in global memory. */
struct qd_frame_saxpy {
    float result0;
    float total;
};


[[kernel, max_total_threads_per_threadgroup(1)]] void
saxpy_0_serial(constant qd_args_saxpy &args [[buffer(0)]], device qd_frame_saxpy *frame [[buffer(1)]],
    uint3 qd_local [[thread_position_in_threadgroup]], uint3 qd_group [[threadgroup_position_in_grid]],
    uint3 qd_size [[threads_per_threadgroup]], uint3 qd_groups [[threadgroups_per_grid]],
    ushort qd_in_simdgroup [[thread_index_in_simdgroup]])
{
    frame->total = 0.0f;                                                  // saxpy:3
}

[[kernel, max_total_threads_per_threadgroup(256)]] void
saxpy_1_range_for(constant qd_args_saxpy &args [[buffer(0)]], device qd_frame_saxpy *frame [[buffer(1)]],
    uint3 qd_local [[thread_position_in_threadgroup]], uint3 qd_group [[threadgroup_position_in_grid]],
    uint3 qd_size [[threads_per_threadgroup]], uint3 qd_groups [[threadgroups_per_grid]],
    ushort qd_in_simdgroup [[thread_index_in_simdgroup]])
{
    device float *x = args.x;
    device float *y = args.y;
    const float a = args.a;
    const int32_t n = args.n;

    const uint32_t qd_threads = qd_groups.x * qd_size.x;
    const uint32_t qd_count = n > 0 ? n : 0;
    float qd_acc = 0.0f;

    const uint32_t qd_first = qd_group.x * qd_size.x + qd_local.x;
    /* Rounds are counted before the first, so that the loads of several can be in flight at once. */
    const uint32_t qd_rounds = qd_first < qd_count ? (qd_count - 1 - qd_first) / qd_threads + 1 : 0;
#pragma unroll 8
    for (uint32_t qd_round = 0; qd_round < qd_rounds; ++qd_round) {
        const uint32_t qd_p = qd_first + qd_round * qd_threads;
        const int32_t i = (int32_t)qd_p;
        y[i] += a * x[i];                                                 // saxpy:5
        qd_acc += y[i];                                                   // saxpy:6
    }

    threadgroup float qd_acc_parts[8];
    qd_warp_add_f32(qd_local.x, qd_acc, qd_acc_parts);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (qd_local.x == 0) {
        qd_acc = qd_block_add_f32(qd_acc_parts, 8);
        if (qd_acc != 0.0f) {
            qd_atomic_add_f32_device(&frame->total, qd_acc);
        }
    }
}

[[kernel, max_total_threads_per_threadgroup(1)]] void
saxpy_2_serial(constant qd_args_saxpy &args [[buffer(0)]], device qd_frame_saxpy *frame [[buffer(1)]],
    uint3 qd_local [[thread_position_in_threadgroup]], uint3 qd_group [[threadgroup_position_in_grid]],
    uint3 qd_size [[threads_per_threadgroup]], uint3 qd_groups [[threadgroups_per_grid]],
    ushort qd_in_simdgroup [[thread_index_in_simdgroup]])
{
    frame->result0 = frame->total;                                        // saxpy:7
}


/* Launches, in order:
 *
 *     saxpy_0_serial      one thread
 *     saxpy_1_range_for   stride, blocks of 256
 *     saxpy_2_serial      one thread
 */
