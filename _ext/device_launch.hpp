// The launch of one kernel on a device: all of its tasks in order, on one stream.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device_regions.hpp"
#include "qd_abi.h"
#include "device.hpp"
#include "stacks.hpp"

namespace qd {

// One step of the arithmetic that gives the iterations of a task: a postfix program over the packed argument block.
enum class Step : int32_t {
    constant, i8, u8, i16, u16, i32, u32, i64, u64, wrap, add, sub, mul, min, max, bit_and, bit_or, bit_xor, floor_div, mod
};

struct CountStep {
    Step op;
    int64_t value;  // of a constant; the byte offset in the block of a number
};

// A stack of a task in one of the heaps. depth: its slots, or -1: they are in the argument block, at `depth_offset`.
struct DeviceStack {
    int32_t kind;
    int64_t slot;
    int64_t depth;
    int64_t depth_offset;
};

// A depth that the arguments decide, and where it goes in the block.
struct DeviceDepth {
    int64_t offset;
    std::vector<CountStep> count;
};

// Tasks that find depths: `count` of them, side by side in the frame, and where they go in the block.
struct DeviceSizing {
    size_t begin, end;
    int64_t frame_offset;
    int64_t count;
    int64_t block_offset;
};

struct DeviceTask {
    void *function;
    uint32_t block;
    uint32_t shared_bytes;
    uint32_t most_blocks;  // a larger grid gains nothing; 0: as many as there are iterations
    bool local;            // it only sets variables of the kernel
    bool counted;          // `count` gives the iterations; else only the device knows them
    std::vector<CountStep> count;
    std::string name;
    std::vector<DeviceStack> stacks;
    int32_t number = 0;  // as messages have it
    // Where a condition is around the stacks of real numbers: the task that counts the iterations that pass, where in the
    // frame it leaves the count and, 8 bytes on, threads claim rows, and where in the block the rows go. -1: no condition.
    int64_t gate_task = -1;
    int64_t gate_frame = 0;
    int64_t gate_rows = 0;
    bool counts = false;  // it is the task of a gate, launched where that is used
};

struct DeviceKernel {
    const Device *api = nullptr;
    std::vector<DeviceTask> tasks;
    std::vector<DeviceRegion> regions;
    size_t block_bytes = 0;     // of the argument block
    bool block_in_memory = false;  // it is too large to go by value
    size_t prefix_bytes = 0;    // start of the frame that the host reads after a launch: failure record, results
    int64_t error_offset = -1;  // of the failure record in the frame, -1: none; behind it the address of the notice
    bool polled = false;        // the host looks at the notice; the prefix is the record alone
    int64_t seed_offset = -1;   // where the block has seed and ordinal of the launch, -1: nowhere
    bool waits = false;         // for what it prints
    bool early = false;         // its tasks wait themselves for the work before them
    bool timed = false;         // begin and end of every task are wanted
    std::vector<DeviceDepth> depths;
    std::vector<DeviceSizing> sizings;    // in order
    int64_t heap_offsets[heap_kinds] = {-1, -1};  // where the block has the addresses of the heaps, -1: nowhere
    int64_t stacks_begin = 0, stacks_end = 0;     // the part of the block that has these and all depths
    int32_t heap_site = 0;      // the message when there is no memory
    int64_t gate_bytes = 0;     // a gate is used for heaps of at least that size
    // Tasks of two launches on one stream must not mix where they share a frame.
    std::mutex gate;
};

// Memory of one kernel on one stream.
struct StreamMemory {
    uint64_t frame = 0;
    uint64_t block = 0;  // where `block_in_memory`
    void *landing = nullptr;  // host memory that the device writes by itself: start of the frame, then a flag or depths
};

// Where two streams meet: what the one has to do before is waited for by the other, and not by the host.
struct Crossing {
    void *event = nullptr;  // made on first use
    std::mutex gate;        // an event is recorded and waited for by one thread at a time

    int order(const Device *api, void *first, void *then);
};

struct DeviceRun {
    void *stream;
    StreamMemory memory;
    char *block;    // the packed arguments
    char *prefix;   // room for `prefix_bytes`
    double *times;  // room for two a task, or null: seconds
    int32_t *status;  // checkpoint to begin at, and where to leave the one that ended the launch; or null
    int failed;     // task that could not be launched, -1: something else failed
    bool polled;    // the host need not wait for the failure record
    bool hit;       // whether the failure record is set
    void **others;  // streams that have worked on arguments: the launch is in order with them
    int other_count;
    Crossing *crossing;
    const char *arch;    // as debug lines have it
    const char *name;    // of the kernel
    DeviceHeaps *heaps;
    qd_error *error;     // filled where stacks find no memory
    bool full;           // whether that is so
    bool known;          // whether the block has the depths that tasks would find
    int64_t maxima;      // how many tasks have worked out a maximum for them
    std::string *text;  // where what a kernel prints goes instead of C stdout, or null
};

// Status of the driver, 0 for success. Needs no GIL.
int run(DeviceKernel *kernel, DeviceRun *launch);

// Iterations of a task for the packed arguments; 0 at least.
int64_t iterations(const DeviceTask &task, const char *block);

// Bytes that `landing` needs.
size_t landing_bytes(const DeviceKernel &kernel);

extern thread_local void *current_stream;

}  // namespace qd
