// The launch of one kernel on a device: all of its tasks in order, on one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adstack_launch.hpp"
#include "counts.hpp"
#include "device_regions.hpp"
#include "device.hpp"
#include "launch_graph.hpp"
#include "print_ring.hpp"

namespace qd {

struct DeviceTask {
    void *function;
    uint32_t block;
    uint32_t shared_bytes;
    uint32_t most_blocks;  // a larger grid gains nothing; 0: as many as there are iterations
    bool local;            // it only sets variables of the kernel
    bool counted;          // `count` gives the iterations; else only the device knows them
    std::vector<CountStep> count;
    std::string name;
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
    int64_t ring_offset = -1;   // where the block has the address of `ring`, -1: nowhere
    PrintRing *ring = nullptr;  // of the device, where `lines` go
    std::vector<PrintedLine> lines;
    bool early = false;         // its tasks wait themselves for the work before them
    bool timed = false;         // begin and end of every task are wanted
    std::unique_ptr<AdstackPlan> adstack;  // null where no task has stacks in a heap
    LaunchGraphs graphs;
    // Tasks of two launches on one stream must not mix where they share a frame, and a graph is changed by one launch
    // at a time.
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
    AdstackRun *adstack;  // set where the kernel has an `adstack`
    std::string *text;  // where what a kernel prints goes instead of C stdout, or null
    const char *name;   // of the kernel
};

// Status of the driver, 0 for success. Needs no GIL.
int run(DeviceKernel *kernel, DeviceRun *launch);

// Iterations of a task for the packed arguments; 0 at least.
int64_t iterations(const DeviceTask &task, const char *block);

// Blocks that a launch of it has.
uint32_t blocks_of(const DeviceTask &task, const char *block);

// Bytes that `landing` needs.
size_t landing_bytes(const DeviceKernel &kernel);

extern thread_local void *current_stream;

}  // namespace qd
