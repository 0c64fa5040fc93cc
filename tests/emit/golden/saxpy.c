/* saxpy: y += a x; returns the sum of y. */

typedef __INT32_TYPE__  int32_t;
typedef __INT64_TYPE__  int64_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

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

static inline float qd_atomic_add_f32(float *p, float x) {
    float old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do
        next = old + x;
    while (!__atomic_compare_exchange(p, &old, &next, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return old;
}

struct qd_args_saxpy {
    float *x;
    int32_t x_shape[1];
    float *y;
    int32_t y_shape[1];
    int32_t n;
    float a;
    float result0;
};

/* What the tasks of one launch share. */
struct qd_frame_saxpy {
    struct qd_args_saxpy *args;
    float total;
};


static void saxpy_0_serial(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_saxpy *frame = qd_frame;
    frame->total = 0.0f;                                                  // saxpy:3
}

static void saxpy_1_range_for(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_saxpy *frame = qd_frame;
    float *x = frame->args->x;
    float *y = frame->args->y;
    const float a = frame->args->a;
    const int32_t n = frame->args->n;
    float qd_acc = 0.0f;
    const int32_t qd_end = (int32_t)(end);
    for (int32_t i = (int32_t)(begin); i < qd_end; ++i) {
        y[i] += a * x[i];                                                 // saxpy:5
        qd_acc += y[i];                                                   // saxpy:6
    }
    if (qd_acc != 0.0f) {
        qd_atomic_add_f32(&frame->total, qd_acc);
    }
}

static void saxpy_2_serial(qd_runtime *rt, void *qd_frame, int32_t worker, int64_t begin, int64_t end)
{
    struct qd_frame_saxpy *frame = qd_frame;
    frame->args->result0 = frame->total;                                  // saxpy:7
}


void qd_kernel_saxpy(qd_runtime *rt, void *qd_args)
{
    struct qd_frame_saxpy qd_frame = {.args = qd_args};
    struct qd_frame_saxpy *frame = &qd_frame;
    (void)frame;
    saxpy_0_serial(rt, frame, 0, 0, 1);
    {
        const int32_t n = frame->args->n;
        int64_t qd_n = 1;
        qd_n *= n > 0 ? n : 0;
        if (qd_n > 0) rt->parallel(rt, saxpy_1_range_for, frame, qd_n, 3333, 0);
    }
    saxpy_2_serial(rt, frame, 0, 0, 1);
}
