// The thread pool that runs the parallel tasks of CPU kernels.
#pragma once

#include <cstdint>

#include "qd_abi.h"

// Splits [0, n) into chunks of at least `grain` iterations and returns when all have run. The calling thread takes part.
// Runs inline, as worker 0, if one chunk is enough, one thread is allowed, or the caller is itself inside a task.
extern "C" void qd_parallel(qd_runtime *rt, qd_task_fn fn, void *frame, int64_t n, int64_t grain, int32_t max_threads);

namespace qd {

// Size of the pool, calling thread included. Workers start on first use; a running job keeps the size it began with.
void set_threads(int32_t count);
int32_t threads();

// Workers alive now (the calling thread is none), for tests and diagnostics.
int32_t started_workers();

// Ends and joins the workers once they are done with what they run; the next parallel task starts new ones.
void stop_workers();

// The same if nothing runs, else nothing: for the end of the process, which must not wait for an endless kernel.
void stop_idle_workers();

}  // namespace qd
