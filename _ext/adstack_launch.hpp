// The stacks in the launch of a kernel on a device: how deep they are, how many rows there are, where they lie. The
// launch of tasks (device_launch.hpp) asks an AdstackLaunch, which knows of it no more than a TaskStarter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "adstack_heaps.hpp"
#include "counts.hpp"
#include "qd_abi.h"
#include "task_starter.hpp"

namespace qd {

// A stack of a task in one of the heaps. depth: its slots, or -1: they are in the argument block, at `depth_offset`.
struct AdstackSlots {
    int32_t kind;
    int64_t slot;
    int64_t depth;
    int64_t depth_offset;
};

// A depth that the arguments decide, and where it goes in the block.
struct AdstackDepth {
    int64_t offset;
    std::vector<CountStep> count;
};

// Tasks that find depths: `count` of them, side by side in the frame, and where they go in the block.
struct AdstackSizing {
    size_t begin, end;
    int64_t frame_offset;
    int64_t count;
    int64_t block_offset;
};

struct AdstackTask {
    std::vector<AdstackSlots> stacks;
    int32_t number = 0;  // as messages have it
    // Where a condition is around the stacks of real numbers: the task that counts the iterations that pass, where in
    // the frame it leaves the count and, 8 bytes on, threads claim rows, and where in the block the rows go. -1: there
    // is no condition.
    int64_t gate_task = -1;
    int64_t gate_frame = 0;
    int64_t gate_rows = 0;
    bool counts = false;  // it is the task of a gate, launched where that is used
};

// What the launches of a kernel have to know about its stacks.
struct AdstackPlan {
    std::vector<AdstackTask> tasks;  // of all tasks of the kernel
    std::vector<AdstackDepth> depths;
    std::vector<AdstackSizing> sizings;           // in order
    int64_t heap_offsets[heap_kinds] = {-1, -1};  // where the block has the addresses of the heaps, -1: nowhere
    int64_t begin = 0, end = 0;                   // the part of the block that has these and all depths
    int32_t heap_site = 0;                        // the message when there is no memory
    int64_t gate_bytes = 0;                       // a gate is used for heaps of at least that size

    size_t landing_bytes() const;  // the most that a launch fetches at once
};

// What the caller of a launch gives for the stacks, and gets.
struct AdstackRun {
    const char *arch;  // as debug lines have it
    const char *name;  // of the kernel
    DeviceHeaps *heaps;
    qd_error *error;  // filled where stacks find no memory
    bool known;       // whether the block has the depths that tasks would find
    int64_t maxima;   // how many tasks have worked out a maximum for them
};

// The stacks of one launch.
class AdstackLaunch {
  public:
    AdstackLaunch(const AdstackPlan &plan, AdstackRun *run, TaskStarter *starter);

    // Whether a task is there for the stacks alone; then `prepare` is called where its turn is.
    bool owns(size_t task) const {
        if (plan_.tasks[task].counts) return true;
        for (const AdstackSizing &sizing : plan_.sizings) {
            if (task >= sizing.begin && task < sizing.end) return true;
        }
        return false;
    }
    int prepare(size_t task);
    // Whether a task has stacks; then it is queued here, with memory for them.
    bool serves(size_t task) const { return !plan_.tasks[task].stacks.empty(); }
    int queue(size_t task, const TaskExtent &extent);
    // Whether the host waits for tasks of this launch.
    bool waits() const { return !plan_.sizings.empty() && !run_->known; }

  private:
    struct Demand;
    Demand demand_of(size_t task, int64_t rows) const;
    HeapUse use_of(size_t task, int kind, const Demand &demand) const;
    void compute_depths();
    int find_depths(const AdstackSizing &sizing);
    int recall_depths(const AdstackSizing &sizing);
    int limit_rows(size_t task, Demand *demand);
    int count_passing(size_t first);
    bool pays(size_t task, const Demand &demand) const;
    bool is_counted(size_t task) const { return task < passing_.size() && passing_[task] >= 0; }
    int bind_heaps(size_t task, const Demand &demand);

    const AdstackPlan &plan_;
    AdstackRun *run_;
    TaskStarter *starter_;
    const bool told_;  // in debug lines
    std::vector<int64_t> passing_;  // by task, once they are counted; -1: they are not
};

}  // namespace qd
