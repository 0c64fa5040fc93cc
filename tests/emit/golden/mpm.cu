/* step: Scatter to the grid, update it, gather. */

#ifdef __CUDACC_RTC__
typedef int                int32_t;
typedef long long          int64_t;
typedef unsigned int       uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

/* 2 x 2, row by row: v[2 * row + column].
 *
 *     |  v[0]  v[1] |
 *     |  v[2]  v[3] |
 */
typedef struct {
    float v[4];
} qd_mat2x2_f32;

/* 2 x 3, row by row: v[3 * row + column].
 *
 *     |  v[0]  v[1]  v[2] |
 *     |  v[3]  v[4]  v[5] |
 */
typedef struct {
    float v[6];
} qd_mat2x3_f32;

typedef struct {
    float v[2];
} qd_vec2_f32;

typedef struct {
    int32_t v[2];
} qd_vec2_i32;

/* The first failure of a launch; later ones are dropped. */
typedef struct qd_error {
    int32_t flag;   /* 0 none, 1 being written, 2 complete */
    int32_t site;   /* index into the table of messages */
    int32_t count;  /* values used */
    int32_t worker;
    int64_t kinds;  /* bit k set: values[k] is a double, else an integer */
    union {
        int64_t i;
        double f;
    } values[24];
    volatile int32_t *notice;  /* where the host looks, or null: it reads `flag` after the launch */
} qd_error;

/* Random numbers of one iteration: draw k is a hash of the key and k. */
typedef struct {
    uint64_t key;
    uint32_t draw;
} qd_rng;

/* One thread inside a task. `error` is in global memory and shared by the whole launch. */
typedef struct {
    qd_error *error;
    int32_t worker;
    qd_rng rng;
    const void *args;
    void *frame;
} qd_lane;

/* What is left without the digits behind the point; the least number where that does not fit, and for NaN. */
__device__ static inline int32_t qd_i32_from_f32(float x) {
    const int32_t found = __float2int_rz(x);
    return fabsf(x) < 0x1p31f ? found : -0x7fffffff - 1;
}

__device__ static inline qd_vec2_f32 operator+(qd_vec2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] + b.v[0];
    r.v[1] = a.v[1] + b.v[1];
    return r;
}

__device__ static inline qd_vec2_f32 operator+(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] + b;
    r.v[1] = a.v[1] + b;
    return r;
}

__device__ static inline qd_vec2_i32 operator+(qd_vec2_i32 a, qd_vec2_i32 b) {
    qd_vec2_i32 r;
    r.v[0] = (int32_t)((uint32_t)a.v[0] + b.v[0]);
    r.v[1] = (int32_t)((uint32_t)a.v[1] + b.v[1]);
    return r;
}

__device__ static inline qd_vec2_f32 operator*(float a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a * b.v[0];
    r.v[1] = a * b.v[1];
    return r;
}

__device__ static inline qd_vec2_f32 operator*(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * b;
    r.v[1] = a.v[1] * b;
    return r;
}

__device__ static inline qd_vec2_f32 qd_square_vec2_f32(qd_vec2_f32 a) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * a.v[0];
    r.v[1] = a.v[1] * a.v[1];
    return r;
}

__device__ static inline qd_vec2_f32 operator-(qd_vec2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] - b.v[0];
    r.v[1] = a.v[1] - b.v[1];
    return r;
}

__device__ static inline qd_vec2_f32 operator-(float a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a - b.v[0];
    r.v[1] = a - b.v[1];
    return r;
}

__device__ static inline qd_vec2_f32 operator-(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] - b;
    r.v[1] = a.v[1] - b;
    return r;
}

__device__ static inline qd_vec2_f32 operator/(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] / b;
    r.v[1] = a.v[1] / b;
    return r;
}

__device__ static inline qd_vec2_f32 qd_vec2_f32_from_i32(qd_vec2_i32 a) {
    qd_vec2_f32 r;
    r.v[0] = (float)a.v[0];
    r.v[1] = (float)a.v[1];
    return r;
}

__device__ static inline qd_vec2_i32 qd_vec2_i32_from_f32(qd_vec2_f32 a) {
    qd_vec2_i32 r;
    r.v[0] = qd_i32_from_f32(a.v[0]);
    r.v[1] = qd_i32_from_f32(a.v[1]);
    return r;
}

__device__ static inline qd_vec2_f32 qd_matmul_mat2x2_f32_vec2_f32(qd_mat2x2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * b.v[0] + a.v[1] * b.v[1];
    r.v[1] = a.v[2] * b.v[0] + a.v[3] * b.v[1];
    return r;
}

__device__ static inline float qd_atomic_add_f32(float *p, float x) {
    return atomicAdd(p, x);
}

/* Adds to each component of a vector whose address is a multiple of its size. */
__device__ static inline void qd_atomic_add_vec2_f32(qd_vec2_f32 *p, qd_vec2_f32 x) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)p, make_float2(x.v[0], x.v[1]));
#else
    qd_atomic_add_f32(&p->v[0], x.v[0]);
    qd_atomic_add_f32(&p->v[1], x.v[1]);
#endif
}

/* A permutation of the 64-bit integers in which every input bit flips every output bit with probability 1/2. */
__device__ static inline uint64_t qd_mix64(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xe9846af9b1a615dull;
    x = (x ^ (x >> 32)) * 0xe9846af9b1a615dull;
    return x ^ (x >> 28);
}

/* 64 random bits. */
__device__ static inline uint64_t qd_random_bits(qd_rng *rng) {
    return qd_mix64(rng->key + 0x9e3779b97f4a7c15ull * ++rng->draw);
}

/* The stream of one iteration. Within a task different iterations have different keys. */
__device__ static inline qd_rng qd_rng_begin(uint64_t seed, uint64_t launch, uint64_t task, uint64_t iteration) {
    qd_rng rng;
    uint64_t key = qd_mix64(seed + 0x9e3779b97f4a7c15ull);
    key = qd_mix64(key ^ (launch + 0xbf58476d1ce4e5b9ull));
    key = qd_mix64(key ^ (task + 0x94d049bb133111ebull));
    rng.key = qd_mix64(key ^ iteration);
    rng.draw = 0;
    return rng;
}

/* Uniform in [0, 1): 24 bits, every value exact, 1 impossible. */
__device__ static inline float qd_random_f32(qd_rng *rng) {
    return (float)((float)(qd_random_bits(rng) >> 40) * 0x1p-24f);
}

/* A task starts while the one before it ends, where the device can do that; here it waits for that end. */
__device__ static inline void qd_grid_await_earlier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct qd_args_step {
    qd_vec2_f32 *x;
    qd_vec2_f32 *momentum;
    qd_vec2_f32 *v;
    qd_mat2x2_f32 *C;
    float *mass;
    float gravity;
    uint64_t qd_seed;
    uint64_t qd_launch;
};

/* What the tasks of one launch share, in global memory. */
struct qd_frame_step {
};

namespace qd_user { /* where no function of a library has a name of the user's */

/* Quadratic B-spline weights of the three nearest nodes, one a column. */
static __device__ qd_mat2x3_f32 weights(qd_vec2_f32 offset)
{
    const qd_vec2_f32 t = 0.5f * qd_square_vec2_f32(1.5f - offset);       // weights:3
    const qd_vec2_f32 t_1 = 0.75f - qd_square_vec2_f32(offset - 1.0f);
    const qd_vec2_f32 t_2 = 0.5f * qd_square_vec2_f32(offset - 0.5f);
    return qd_mat2x3_f32{{t.v[0], t_1.v[0], t_2.v[0], t.v[1], t_1.v[1], t_2.v[1]}};
}


extern "C" __global__ void __launch_bounds__(128)
step_0_struct_for(const __grid_constant__ qd_args_step args, qd_frame_step *frame)
{
    qd_grid_await_earlier();
    qd_vec2_f32 *__restrict__ x = (qd_vec2_f32 *)__builtin_assume_aligned(args.x, 8);
    qd_vec2_f32 *momentum = (qd_vec2_f32 *)__builtin_assume_aligned(args.momentum, 8);
    qd_vec2_f32 *__restrict__ v = (qd_vec2_f32 *)__builtin_assume_aligned(args.v, 8);
    qd_mat2x2_f32 *__restrict__ C = (qd_mat2x2_f32 *)__builtin_assume_aligned(args.C, 16);
    float *mass = args.mass;

    const int32_t p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= 64) return;

    qd_vec2_i32 base = qd_vec2_i32_from_f32(x[p] / 0.0625f - 0.5f);       // step:4
    qd_vec2_f32 offset = x[p] / 0.0625f - qd_vec2_f32_from_i32(base);     // step:5
    qd_mat2x3_f32 w = weights(offset);                                    // step:6
    qd_vec2_i32 corner = qd_vec2_i32{{0, 0}};                             // step:8
    float weight = w.v[0] * w.v[3];                                       // step:9
    const qd_vec2_i32 t = base + corner;                                  // step:10
    const qd_vec2_f32 t_1 = weight * (v[p] + qd_matmul_mat2x2_f32_vec2_f32(C[p], (qd_vec2_f32_from_i32(corner) - offset) * 0.0625f));
    qd_atomic_add_vec2_f32(&momentum[t.v[0] * 16 + t.v[1]], t_1);
    const qd_vec2_i32 t_2 = base + corner;                                // step:11
    qd_atomic_add_f32(&mass[t_2.v[0] * 16 + t_2.v[1]], weight);
    qd_vec2_i32 corner_1 = qd_vec2_i32{{0, 1}};                           // step:8
    float weight_1 = w.v[0] * w.v[4];                                     // step:9
    const qd_vec2_i32 t_3 = base + corner_1;                              // step:10
    const qd_vec2_f32 t_4 = weight_1 * (v[p] + qd_matmul_mat2x2_f32_vec2_f32(C[p], (qd_vec2_f32_from_i32(corner_1) - offset) * 0.0625f));
    qd_atomic_add_vec2_f32(&momentum[t_3.v[0] * 16 + t_3.v[1]], t_4);
    const qd_vec2_i32 t_5 = base + corner_1;                              // step:11
    qd_atomic_add_f32(&mass[t_5.v[0] * 16 + t_5.v[1]], weight_1);
    qd_vec2_i32 corner_2 = qd_vec2_i32{{1, 0}};                           // step:8
    float weight_2 = w.v[1] * w.v[3];                                     // step:9
    const qd_vec2_i32 t_6 = base + corner_2;                              // step:10
    const qd_vec2_f32 t_7 = weight_2 * (v[p] + qd_matmul_mat2x2_f32_vec2_f32(C[p], (qd_vec2_f32_from_i32(corner_2) - offset) * 0.0625f));
    qd_atomic_add_vec2_f32(&momentum[t_6.v[0] * 16 + t_6.v[1]], t_7);
    const qd_vec2_i32 t_8 = base + corner_2;                              // step:11
    qd_atomic_add_f32(&mass[t_8.v[0] * 16 + t_8.v[1]], weight_2);
    qd_vec2_i32 corner_3 = qd_vec2_i32{{1, 1}};                           // step:8
    float weight_3 = w.v[1] * w.v[4];                                     // step:9
    const qd_vec2_i32 t_9 = base + corner_3;                              // step:10
    const qd_vec2_f32 t_10 = weight_3 * (v[p] + qd_matmul_mat2x2_f32_vec2_f32(C[p], (qd_vec2_f32_from_i32(corner_3) - offset) * 0.0625f));
    qd_atomic_add_vec2_f32(&momentum[t_9.v[0] * 16 + t_9.v[1]], t_10);
    const qd_vec2_i32 t_11 = base + corner_3;                             // step:11
    qd_atomic_add_f32(&mass[t_11.v[0] * 16 + t_11.v[1]], weight_3);
}

extern "C" __global__ void __launch_bounds__(128)
step_1_struct_for(const __grid_constant__ qd_args_step args, qd_frame_step *frame)
{
    qd_grid_await_earlier();
    qd_vec2_f32 *momentum = (qd_vec2_f32 *)__builtin_assume_aligned(args.momentum, 8);
    float *__restrict__ mass = args.mass;
    const float gravity = args.gravity;

    const uint32_t qd_p = blockIdx.x * blockDim.x + threadIdx.x;
    if (qd_p >= 256) return;
    const int32_t i = qd_p / 16;
    const int32_t j = qd_p % 16;

    if (mass[i * 16 + j] > 0.0f) {                                        // step:13
        momentum[i * 16 + j] = momentum[i * 16 + j] / mass[i * 16 + j];   // step:14
        momentum[i * 16 + j].v[1] -= gravity * 0.001f;                    // step:15
    }
}

extern "C" __global__ void __launch_bounds__(128)
step_2_struct_for(const __grid_constant__ qd_args_step args, qd_frame_step *frame)
{
    qd_grid_await_earlier();
    qd_vec2_f32 *x = (qd_vec2_f32 *)__builtin_assume_aligned(args.x, 8);
    qd_vec2_f32 *__restrict__ momentum = (qd_vec2_f32 *)__builtin_assume_aligned(args.momentum, 8);
    qd_vec2_f32 *v = (qd_vec2_f32 *)__builtin_assume_aligned(args.v, 8);
    qd_lane qd_self = {nullptr, (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), {}, &args, frame};
    qd_lane *lane = &qd_self;

    const int32_t p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= 64) return;
    lane->rng = qd_rng_begin(args.qd_seed, args.qd_launch, 2, p);

    qd_vec2_i32 cell = qd_vec2_i32_from_f32(x[p] / 0.0625f);              // step:17
    const qd_vec2_i32 t = cell;                                           // step:18
    v[p] = momentum[t.v[0] * 16 + t.v[1]];
    const float random_ = qd_random_f32(&lane->rng);                      // step:19
    const qd_vec2_f32 t_1 = 0.001f * v[p] + 1e-06f * (random_ - 0.5f);
    x[p].v[0] += t_1.v[0];
    x[p].v[1] += t_1.v[1];
}


} /* namespace */

/* Launches, in order:
 *
 *     step_0_struct_for   flat, blocks of 128, 64 iterations
 *     step_1_struct_for   flat, blocks of 128, 256 iterations
 *     step_2_struct_for   flat, blocks of 128, 64 iterations
 */
