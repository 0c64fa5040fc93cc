/* The interface between compiled kernels and the launch core. Plain C, no includes beyond <stdint.h>. */
#ifndef QD_ABI_H
#define QD_ABI_H

#include <stdint.h>

#define QD_ABI 2
#define QD_ERROR_VALUES 24

typedef struct qd_runtime qd_runtime;

/* Runs iterations [begin, end) of a task. `worker` is unique among the threads that run the task, in [0, rt->threads). */
typedef void (*qd_task_fn)(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end);

typedef union qd_value {
    int64_t i;
    double f;
    float single;
} qd_value;

/* First failure of a launch; later ones are dropped. A writer moves flag 0 -> 1 atomically, fills, then stores 2. */
struct qd_error {
    int32_t flag;   /* 0 none, 1 being written, 2 complete */
    int32_t site;   /* index into the plan's table of messages */
    int32_t count;  /* values used */
    int32_t worker; /* who failed */
    int64_t kinds;  /* bit k set: values[k] is a double, else an int64; bit 32 + k set: the bits of a uint64.
                       Bit 31 set: real numbers are floats. */
    qd_value values[QD_ERROR_VALUES];
};

struct qd_runtime {
    int32_t abi;     /* QD_ABI */
    int32_t threads; /* size of the pool, at least 1 */
    uint64_t seed;   /* seed of the runtime */
    uint64_t launch; /* ordinal of this launch */
    struct qd_error error;
    void (*parallel)(qd_runtime *rt, qd_task_fn fn, void *frame, int64_t n, int64_t grain, int32_t max_threads);
    void (*print)(qd_runtime *rt, const char *format, ...);
    /* Memory for the stacks of a task, `rows` rows of `stride` bytes, until the launch ends or asks again for one of the same
     * kind: 0 for real numbers, 1 for integers. source: why there are so many rows, for debug lines (`row_sources`). Null after a failure with the message `site`: there is not so much. */
    char *(*stacks)(qd_runtime *rt, int32_t kind, int32_t task, int64_t stride, int64_t rows, int32_t source,
                    int32_t site);
};

typedef void (*qd_kernel_fn)(qd_runtime *rt, void *args);

#endif
