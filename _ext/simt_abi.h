/* The interface between emulated kernels and the SIMT emulator. Plain C, no includes: it is part of every kernel's text.
 *
 *     text of a kernel --- one qd_simt_module ---> where its built-in variables and its shared memory are
 *           |
 *           one qd_simt_entry a task ------------> how to run one thread of it
 *
 * The emulator fills in `api` before the first launch, and moves the built-in variables from thread to thread.
 */
#ifndef QD_SIMT_ABI_H
#define QD_SIMT_ABI_H

#define QD_SIMT_ABI 4

/* Whose words the text has. */
enum qd_simt_flavour { QD_SIMT_CUDA, QD_SIMT_HIP, QD_SIMT_METAL };

/* What a thread may wait for in a barrier of the block. */
enum qd_simt_barrier { QD_SIMT_BLOCK_SYNC, QD_SIMT_BLOCK_AND, QD_SIMT_BLOCK_OR, QD_SIMT_BLOCK_COUNT };

/* What the lanes of a warp do together. */
enum qd_simt_op {
    QD_SIMT_SYNC,
    QD_SIMT_SHUFFLE,
    QD_SIMT_SHUFFLE_UP,
    QD_SIMT_SHUFFLE_DOWN,
    QD_SIMT_SHUFFLE_XOR,
    QD_SIMT_BALLOT,
    QD_SIMT_ALL,
    QD_SIMT_ANY,
    QD_SIMT_UNI,
    QD_SIMT_MATCH_ANY,
    QD_SIMT_MATCH_ALL,
    QD_SIMT_ACTIVE
};

typedef struct qd_simt_index {
    unsigned int x, y, z;
} qd_simt_index;

typedef struct qd_simt_api {
    /* Waits for all threads of the block; the reduction of their predicates. */
    int (*barrier)(int kind, int predicate);
    /* Waits for the lanes in `mask`, or with `lockstep` for those that are at the same point of the program. `value` is
     * what this lane contributes, as bits; `lane` whose value a shuffle asks for. */
    unsigned long long (*warp)(int op, int lockstep, unsigned long long mask, unsigned long long value, int lane);
    /* Ends the calling thread. */
    void (*leave)(void);
    int (*print)(const char *format, ...);
    unsigned long long (*clock)(void);
} qd_simt_api;

typedef struct qd_simt_module {
    int abi;
    int cooperative; /* whether the text has any call in which threads wait for each other */
    const qd_simt_api *api;
    qd_simt_index *thread, *block, *block_dim, *grid_dim;
    unsigned char *shared, *shared_end; /* declared with sizes */
    unsigned char *dynamic;             /* the one without, null if there is none */
    unsigned int dynamic_room;
    int flavour;
    int tasks; /* how many the text has */
} qd_simt_module;

typedef struct qd_simt_entry {
    qd_simt_module *module;
    /* Runs the current thread. `params` points to the value of each parameter. */
    void (*call)(void **params);
} qd_simt_entry;

#endif
