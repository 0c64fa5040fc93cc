// The SIMT emulator: blocks one after another on the calling thread, the threads of a block as fibers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simt_abi.h"
#include "simt_fiber.hpp"

namespace qd::simt {

// A task of a kernel, ready to be launched.
struct Function {
    const qd_simt_entry *entry;
    int warp;          // lanes of a warp: 32 for CUDA, 64 for HIP
    bool cooperative;  // its threads may wait for each other
    std::string name;
};

enum class State : uint8_t { fresh, ready, in_barrier, in_warp, ended, left };

constexpr int most_calls = 24;

// One thread of the block that runs.
struct Thread {
    State state;
    uint8_t what;  // qd_simt_barrier or qd_simt_op
    bool lockstep;
    int32_t lane;       // whose value a shuffle wants
    int32_t predicate;  // in a barrier; then the result
    uint64_t mask, value, result;
    Fiber fiber;
    // Where it waits: the addresses it will return to, from the innermost call on.
    int32_t calls;
    void *sites[most_calls];
};

constexpr int most_threads = 1024;

struct Block {
    const Function *function;
    uint32_t index;
    uint32_t size;
    std::vector<Thread> threads;
};

// What keeps the threads of a block from going on, as one sentence.
std::string standstill(const Block &block);

// "thread 3", "threads 0-2, 7".
std::string listed(const std::vector<uint32_t> &threads);

// What the text of a function calls these.
const char *barrier_name(const Function &function, int kind);
const char *op_name(const Function &function, int op);

// 0, or a status that `describe` knows.
int launch(void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream, void **params);

// What the last launch of this thread failed with; empty after one that did not.
const char *describe(int status);

// Whether what kernels print is kept for `take_output` instead of written to the C library's standard output.
void capture(bool on);
std::string take_output();

// Null, with the reason in `describe`, for code of another version. Functions live as long as the process.
Function *make_function(uint64_t entry, int warp, bool cooperative, const char *name);

int64_t shared_limit(int warp);

}  // namespace qd::simt
