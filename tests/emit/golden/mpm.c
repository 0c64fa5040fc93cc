/* step: Scatter to the grid, update it, gather. */

typedef __INT32_TYPE__  int32_t;
typedef __INT64_TYPE__  int64_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

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
} qd_error;

/* Random numbers of one iteration: draw k is a hash of the key and k. */
typedef struct {
    uint64_t key;
    uint32_t draw;
} qd_rng;

typedef struct qd_runtime qd_runtime;
typedef void (*qd_task_fn)(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end);
struct qd_runtime {
    int32_t abi;
    int32_t threads;
    uint64_t seed;
    uint64_t launch;
    qd_error error;
    void (*parallel)(qd_runtime *rt, qd_task_fn fn, void *frame, int64_t n, int64_t grain, int32_t max_threads);
    void (*print)(qd_runtime *rt, const char *format, ...);
    char *(*stacks)(qd_runtime *rt, int32_t kind, int32_t task, int64_t stride, int64_t rows, int32_t source,
                    int32_t site);
};

/* One worker inside a task. `escape` is where a failed check returns to (__builtin_setjmp). */
typedef struct {
    qd_runtime *rt;
    void *frame;
    int32_t worker;
    void *escape[5];
    qd_rng rng;
} qd_lane;

extern float fabsf(float);

#if defined(__x86_64__) && defined(__ELF__) && __GNUC__ >= 12 && !defined(__clang__)
extern const float qd_i32_from_f32_zero __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 8\nqd_i32_from_f32_zero: .quad 0\n.popsection");
/* What is left without the digits behind the point; the least number where that does not fit, and for NaN. */
static inline int32_t qd_i32_from_f32(float x) {
    return __builtin_assoc_barrier((int32_t)(x + qd_i32_from_f32_zero));
}
#else
/* What is left without the digits behind the point; the least number where that does not fit, and for NaN. */
static inline int32_t qd_i32_from_f32(float x) {
    int32_t zero = 0;
#if defined(__clang__)
    __asm__("" : "+r"(zero));
#endif
    return (fabsf(x) < 0x1p31f ? (int32_t)x : -0x7fffffff - 1) ^ zero;
}
#endif

static inline qd_vec2_f32 qd_add_vec2_f32(qd_vec2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] + b.v[0];
    r.v[1] = a.v[1] + b.v[1];
    return r;
}

static inline qd_vec2_f32 qd_add_vec2_f32_vs(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] + b;
    r.v[1] = a.v[1] + b;
    return r;
}

static inline qd_vec2_i32 qd_add_vec2_i32(qd_vec2_i32 a, qd_vec2_i32 b) {
    qd_vec2_i32 r;
    r.v[0] = a.v[0] + b.v[0];
    r.v[1] = a.v[1] + b.v[1];
    return r;
}

static inline qd_vec2_f32 qd_mul_vec2_f32_sv(float a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a * b.v[0];
    r.v[1] = a * b.v[1];
    return r;
}

static inline qd_vec2_f32 qd_mul_vec2_f32_vs(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * b;
    r.v[1] = a.v[1] * b;
    return r;
}

static inline qd_vec2_f32 qd_square_vec2_f32(qd_vec2_f32 a) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * a.v[0];
    r.v[1] = a.v[1] * a.v[1];
    return r;
}

static inline qd_vec2_f32 qd_sub_vec2_f32(qd_vec2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] - b.v[0];
    r.v[1] = a.v[1] - b.v[1];
    return r;
}

static inline qd_vec2_f32 qd_sub_vec2_f32_sv(float a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a - b.v[0];
    r.v[1] = a - b.v[1];
    return r;
}

static inline qd_vec2_f32 qd_sub_vec2_f32_vs(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] - b;
    r.v[1] = a.v[1] - b;
    return r;
}

static inline qd_vec2_f32 qd_truediv_vec2_f32_vs(qd_vec2_f32 a, float b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] / b;
    r.v[1] = a.v[1] / b;
    return r;
}

static inline qd_vec2_f32 qd_vec2_f32_from_i32(qd_vec2_i32 a) {
    qd_vec2_f32 r;
    r.v[0] = (float)a.v[0];
    r.v[1] = (float)a.v[1];
    return r;
}

static inline qd_vec2_i32 qd_vec2_i32_from_f32(qd_vec2_f32 a) {
    qd_vec2_i32 r;
    r.v[0] = qd_i32_from_f32(a.v[0]);
    r.v[1] = qd_i32_from_f32(a.v[1]);
    return r;
}

static inline qd_vec2_f32 qd_matmul_mat2x2_f32_vec2_f32(qd_mat2x2_f32 a, qd_vec2_f32 b) {
    qd_vec2_f32 r;
    r.v[0] = a.v[0] * b.v[0] + a.v[1] * b.v[1];
    r.v[1] = a.v[2] * b.v[0] + a.v[3] * b.v[1];
    return r;
}

/* A permutation of the 64-bit integers in which every input bit flips every output bit with probability 1/2. */
static inline uint64_t qd_mix64(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xe9846af9b1a615dull;
    x = (x ^ (x >> 32)) * 0xe9846af9b1a615dull;
    return x ^ (x >> 28);
}

/* 64 random bits. */
static inline uint64_t qd_random_bits(qd_rng *rng) {
    return qd_mix64(rng->key + 0x9e3779b97f4a7c15ull * ++rng->draw);
}

/* The stream of one iteration. Within a task different iterations have different keys. */
static inline qd_rng qd_rng_begin(uint64_t seed, uint64_t launch, uint64_t task, uint64_t iteration) {
    qd_rng rng;
    uint64_t key = qd_mix64(seed + 0x9e3779b97f4a7c15ull);
    key = qd_mix64(key ^ (launch + 0xbf58476d1ce4e5b9ull));
    key = qd_mix64(key ^ (task + 0x94d049bb133111ebull));
    rng.key = qd_mix64(key ^ iteration);
    rng.draw = 0;
    return rng;
}

/* Uniform in [0, 1): 24 bits, every value exact, 1 impossible. */
static inline float qd_random_f32(qd_rng *rng) {
    return (float)((float)(qd_random_bits(rng) >> 40) * 0x1p-24f);
}

struct qd_args_step {
    qd_vec2_f32 *x;
    qd_vec2_f32 *momentum;
    qd_vec2_f32 *v;
    qd_mat2x2_f32 *C;
    float *mass;
    float gravity;
};

/* What the tasks of one launch share. */
struct qd_frame_step {
    struct qd_args_step *args;
};

/* Quadratic B-spline weights of the three nearest nodes, one a column. */
static qd_mat2x3_f32 weights(qd_vec2_f32 offset)
{
    const qd_vec2_f32 t = qd_mul_vec2_f32_sv(0.5f, qd_square_vec2_f32(qd_sub_vec2_f32_sv(1.5f, offset)));  // weights:3
    const qd_vec2_f32 t_1 = qd_sub_vec2_f32_sv(0.75f, qd_square_vec2_f32(qd_sub_vec2_f32_vs(offset, 1.0f)));
    const qd_vec2_f32 t_2 = qd_mul_vec2_f32_sv(0.5f, qd_square_vec2_f32(qd_sub_vec2_f32_vs(offset, 0.5f)));
    return (qd_mat2x3_f32){{t.v[0], t_1.v[0], t_2.v[0], t.v[1], t_1.v[1], t_2.v[1]}};
}


static void step_0_struct_for(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_step *frame = qd_frame;
    qd_vec2_f32 *restrict x = frame->args->x;
    qd_vec2_f32 *restrict momentum = frame->args->momentum;
    qd_vec2_f32 *restrict v = frame->args->v;
    qd_mat2x2_f32 *restrict C = frame->args->C;
    float *restrict mass = frame->args->mass;
    const int32_t qd_end = (int32_t)(end);
    for (int32_t p = (int32_t)(begin); p < qd_end; ++p) {
        qd_vec2_i32 base = qd_vec2_i32_from_f32(qd_sub_vec2_f32_vs(qd_truediv_vec2_f32_vs(x[p], 0.0625f), 0.5f));  // step:4
        qd_vec2_f32 offset = qd_sub_vec2_f32(qd_truediv_vec2_f32_vs(x[p], 0.0625f), qd_vec2_f32_from_i32(base));  // step:5
        qd_mat2x3_f32 w = weights(offset);                                // step:6
        qd_vec2_i32 corner = (qd_vec2_i32){{0, 0}};                       // step:8
        float weight = w.v[0] * w.v[3];                                   // step:9
        const qd_vec2_i32 t = qd_add_vec2_i32(base, corner);              // step:10
        const qd_vec2_f32 t_1 = qd_mul_vec2_f32_sv(weight, qd_add_vec2_f32(v[p], qd_matmul_mat2x2_f32_vec2_f32(C[p], qd_mul_vec2_f32_vs(qd_sub_vec2_f32(qd_vec2_f32_from_i32(corner), offset), 0.0625f))));
        momentum[t.v[0] * 16 + t.v[1]].v[0] += t_1.v[0];
        momentum[t.v[0] * 16 + t.v[1]].v[1] += t_1.v[1];
        const qd_vec2_i32 t_2 = qd_add_vec2_i32(base, corner);            // step:11
        mass[t_2.v[0] * 16 + t_2.v[1]] += weight;
        qd_vec2_i32 corner_1 = (qd_vec2_i32){{0, 1}};                     // step:8
        float weight_1 = w.v[0] * w.v[4];                                 // step:9
        const qd_vec2_i32 t_3 = qd_add_vec2_i32(base, corner_1);          // step:10
        const qd_vec2_f32 t_4 = qd_mul_vec2_f32_sv(weight_1, qd_add_vec2_f32(v[p], qd_matmul_mat2x2_f32_vec2_f32(C[p], qd_mul_vec2_f32_vs(qd_sub_vec2_f32(qd_vec2_f32_from_i32(corner_1), offset), 0.0625f))));
        momentum[t_3.v[0] * 16 + t_3.v[1]].v[0] += t_4.v[0];
        momentum[t_3.v[0] * 16 + t_3.v[1]].v[1] += t_4.v[1];
        const qd_vec2_i32 t_5 = qd_add_vec2_i32(base, corner_1);          // step:11
        mass[t_5.v[0] * 16 + t_5.v[1]] += weight_1;
        qd_vec2_i32 corner_2 = (qd_vec2_i32){{1, 0}};                     // step:8
        float weight_2 = w.v[1] * w.v[3];                                 // step:9
        const qd_vec2_i32 t_6 = qd_add_vec2_i32(base, corner_2);          // step:10
        const qd_vec2_f32 t_7 = qd_mul_vec2_f32_sv(weight_2, qd_add_vec2_f32(v[p], qd_matmul_mat2x2_f32_vec2_f32(C[p], qd_mul_vec2_f32_vs(qd_sub_vec2_f32(qd_vec2_f32_from_i32(corner_2), offset), 0.0625f))));
        momentum[t_6.v[0] * 16 + t_6.v[1]].v[0] += t_7.v[0];
        momentum[t_6.v[0] * 16 + t_6.v[1]].v[1] += t_7.v[1];
        const qd_vec2_i32 t_8 = qd_add_vec2_i32(base, corner_2);          // step:11
        mass[t_8.v[0] * 16 + t_8.v[1]] += weight_2;
        qd_vec2_i32 corner_3 = (qd_vec2_i32){{1, 1}};                     // step:8
        float weight_3 = w.v[1] * w.v[4];                                 // step:9
        const qd_vec2_i32 t_9 = qd_add_vec2_i32(base, corner_3);          // step:10
        const qd_vec2_f32 t_10 = qd_mul_vec2_f32_sv(weight_3, qd_add_vec2_f32(v[p], qd_matmul_mat2x2_f32_vec2_f32(C[p], qd_mul_vec2_f32_vs(qd_sub_vec2_f32(qd_vec2_f32_from_i32(corner_3), offset), 0.0625f))));
        momentum[t_9.v[0] * 16 + t_9.v[1]].v[0] += t_10.v[0];
        momentum[t_9.v[0] * 16 + t_9.v[1]].v[1] += t_10.v[1];
        const qd_vec2_i32 t_11 = qd_add_vec2_i32(base, corner_3);         // step:11
        mass[t_11.v[0] * 16 + t_11.v[1]] += weight_3;
    }
}

static void step_1_struct_for(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_step *frame = qd_frame;
    qd_vec2_f32 *restrict momentum = frame->args->momentum;
    float *restrict mass = frame->args->mass;
    const float gravity = frame->args->gravity;
    for (uint64_t qd_p = begin; qd_p < (uint64_t)end;) {
        /* Iterations are numbered row by row; a chunk may begin and end inside a row. */
        const int32_t qd_row = (int32_t)(qd_p % 16);
        uint64_t qd_q = qd_p / 16;
        const int32_t i = (int32_t)(qd_q);
        const int32_t qd_stop = (int32_t)(end - qd_p < 16 - qd_row ? qd_row + (end - qd_p) : 16);
        for (int32_t j = qd_row; j < qd_stop; ++j) {
            if (mass[(int64_t)i * 16 + j] > 0.0f) {                       // step:13
                momentum[(int64_t)i * 16 + j] = qd_truediv_vec2_f32_vs(momentum[(int64_t)i * 16 + j], mass[(int64_t)i * 16 + j]);  // step:14
                momentum[(int64_t)i * 16 + j].v[1] -= gravity * 0.001f;   // step:15
            }
        }
        qd_p += qd_stop - qd_row;
    }
}

static void step_2_struct_for(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_step *frame = qd_frame;
    qd_vec2_f32 *restrict x = frame->args->x;
    qd_vec2_f32 *restrict momentum = frame->args->momentum;
    qd_vec2_f32 *restrict v = frame->args->v;
    qd_lane qd_self = {.rt = rt, .frame = frame, .worker = worker};
    qd_lane *lane = &qd_self;
    const int32_t qd_end = (int32_t)(end);
    for (int32_t p = (int32_t)(begin); p < qd_end; ++p) {
        lane->rng = qd_rng_begin(rt->seed, rt->launch, 2, p);
        qd_vec2_i32 cell = qd_vec2_i32_from_f32(qd_truediv_vec2_f32_vs(x[p], 0.0625f));  // step:17
        const qd_vec2_i32 t = cell;                                       // step:18
        v[p] = momentum[t.v[0] * 16 + t.v[1]];
        const float random_ = qd_random_f32(&lane->rng);                  // step:19
        const qd_vec2_f32 t_1 = qd_add_vec2_f32_vs(qd_mul_vec2_f32_sv(0.001f, v[p]), 1e-06f * (random_ - 0.5f));
        x[p].v[0] += t_1.v[0];
        x[p].v[1] += t_1.v[1];
    }
}


void qd_kernel_step(qd_runtime *rt, void *qd_args)
{
    struct qd_frame_step qd_frame = {.args = qd_args};
    struct qd_frame_step *frame = &qd_frame;
    (void)frame;
    {
        const int64_t qd_n = 64;
        /* The atomics of this scatter would cost more than other threads gain. */
        if (qd_n > 0) step_0_struct_for(rt, frame, 0, 0, qd_n);
    }
    {
        const int64_t qd_n = 256;
        if (qd_n > 0) rt->parallel(rt, step_1_struct_for, frame, qd_n, 869, 0);
    }
    {
        const int64_t qd_n = 64;
        if (qd_n > 0) rt->parallel(rt, step_2_struct_for, frame, qd_n, 645, 0);
    }
}
