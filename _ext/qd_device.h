/* What the launch core asks of a device. One table each for the devices of NVIDIA, of AMD, and for the SIMT emulator; which
 * of these devices is meant says `self`, what it was opened with (device.hpp).
 *
 * Every function but `describe` and `close` returns a status, 0 for success. Addresses are those of the device. A stream is the
 * driver's handle, null for the default stream.
 */
#ifndef QD_DEVICE_H
#define QD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

enum qd_attribute {
    QD_MULTIPROCESSORS,
    QD_MAX_THREADS_PER_BLOCK,
    QD_MAX_SHARED_BYTES,    /* per block, what a kernel may opt in to */
    QD_COMPUTE_CAPABILITY,  /* 10 * major + minor; 0 where there is none */
    QD_CLOCK_KHZ,
    QD_ARGUMENT_BYTES       /* largest argument block passed by value */
};

/* A task as a node of a graph. `params` as in `launch`, `param_bytes` the size of each; both are read at once. */
typedef struct qd_graph_task {
    void *function;
    uint32_t grid, block, shared_bytes;
    int32_t early; /* its threads themselves wait for the work before it, as those of `launch_early` */
    int32_t param_count;
    void **params;
    const size_t *param_bytes;
} qd_graph_task;

/* Tasks that are described once and launched as one, in the order in which they are added.
 *
 *     create, add, add, condition, add, open_loop, add, add, close_loop, add, finish, launch, set, launch, .., destroy
 *     create, add, open_branches, next_branch, add, add, next_branch, add, close_branches, add, finish, ..
 */
typedef struct qd_graph_api {
    int (*create)(void *self, void **graph);
    /* Behind what was added last, in the loop that was opened last. Tasks are numbered as they are added, from 0. */
    int (*add)(void *self, void *graph, const qd_graph_task *task);
    /* What a task gives `cudaGraphSetConditional` to say whether the loop runs again; of a loop that is opened where the
       next task would be added, and does not run unless a task before it says so. */
    int (*condition)(void *self, void *graph, uint64_t *handle);
    int (*open_loop)(void *self, void *graph, uint64_t handle);
    int (*close_loop)(void *self, void *graph);
    /* Branches come behind what was added before, in any order among them, and what is added later behind all of them.
       Each begins with `next_branch`; there are none in one. */
    int (*open_branches)(void *self, void *graph);
    int (*next_branch)(void *self, void *graph);
    int (*close_branches)(void *self, void *graph);
    int (*finish)(void *self, void *graph);
    /* Changes a task. A grid of 0 leaves it out, which no task in a loop can be. */
    int (*set)(void *self, void *graph, size_t at, const qd_graph_task *task);
    int (*launch)(void *self, void *graph, void *stream);
    int (*destroy)(void *self, void *graph);
} qd_graph_api;

typedef struct qd_device_api {
    const char *name;
    /* How many devices the process can see. */
    int (*count)(void *self, int32_t *devices);
    /* Makes the device usable in this process; before anything below. */
    int (*open)(void *self);
    int (*attribute)(void *self, int64_t *value, int32_t which);
    /* Writes a terminated text; cut at `size`. */
    int (*device_name)(void *self, char *text, size_t size);

    int (*load)(void *self, void **module, const void *image);
    int (*function)(void *self, void **function, void *module, const char *name);
    int (*unload)(void *self, void *module);
    /* Lets a function use that much dynamic shared memory. */
    int (*allow_shared)(void *self, void *function, uint32_t bytes);
    /* Blocks of a function that a multiprocessor holds at once. */
    int (*residency)(void *self, int32_t *blocks, void *function, uint32_t block, uint32_t shared_bytes);
    /* `params` points to the value of each parameter, as in cuLaunchKernel. */
    int (*launch)(void *self, void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
                 void **params);
    /* The same for a function whose threads themselves wait for the work before it, first of all: it may start while that
       ends. Null where nothing is gained. */
    int (*launch_early)(void *self, void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
                       void **params);

    int (*allocate)(void *self, uint64_t *address, size_t bytes);
    int (*release)(void *self, uint64_t address);
    /* Host memory that the device copies to and from by itself. */
    int (*allocate_host)(void *self, void **address, size_t bytes);
    int (*release_host)(void *self, void *address);
    /* `source` may be reused when it returns. */
    int (*to_device)(void *self, uint64_t target, const void *source, size_t bytes, void *stream);
    /* Waits: `target` is complete when it returns. */
    int (*to_host)(void *self, void *target, uint64_t source, size_t bytes, void *stream);
    int (*on_device)(void *self, uint64_t target, uint64_t source, size_t bytes, void *stream);
    int (*fill)(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream);
    int (*synchronize)(void *self, void *stream);

    int (*stream_create)(void *self, void **stream);
    int (*stream_destroy)(void *self, void *stream);
    int (*event_create)(void *self, void **event, int32_t timing);
    int (*event_record)(void *self, void *event, void *stream);
    int (*event_wait)(void *self, void *event, void *stream);
    int (*event_synchronize)(void *self, void *event);
    int (*event_milliseconds)(void *self, float *between, void *begin, void *end);
    int (*event_destroy)(void *self, void *event);

    /* Whether what is put on the stream is recorded for a graph instead of run. Null where streams cannot be recorded. */
    int (*is_capturing)(void *self, int32_t *answer, void *stream);
    /* The device that memory is on, -1 for memory that every device reaches. Null where that is not known. */
    int (*owner)(void *self, int32_t *ordinal, uint64_t address);

    /* What a status means, and where the table knows more about the last failure of this thread, that. */
    const char *(*describe)(void *self, int status);
    /* Nothing uses the device any more. Null where nothing is to be done. */
    void (*close)(void *self);
    /* Whether tasks can be launched as graphs, as far as is known after `open`; null where they cannot. */
    const qd_graph_api *(*graphs)(void *self);

    /* The tasks of a launch are all on the stream: they may start. Null where each starts by itself. */
    int (*submit)(void *self, void *stream);

    /* Where the device has memory of `allocate_host`. Null where that is at the same address. */
    int (*address_of_host)(void *self, uint64_t *address, const void *host);
} qd_device_api;

#endif
