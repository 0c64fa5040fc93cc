#include "adstack_launch.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace qd {
namespace {

constexpr int64_t gate_size = 16;  // of a gate in the frame: how many pass, how many rows are claimed

// All tasks but the last, which is serial.
int64_t maxima_of(const AdstackSizing &sizing) { return static_cast<int64_t>(sizing.end - sizing.begin) - 1; }

}  // namespace

size_t AdstackPlan::landing_bytes() const {
    int64_t most = 0;
    for (const AdstackSizing &sizing : sizings) most = std::max(most, 8 * sizing.count);
    int64_t first = INT64_MAX, last = 0;
    for (const AdstackTask &task : tasks) {
        if (task.gate_task < 0) continue;
        first = std::min(first, task.gate_frame);
        last = std::max(last, task.gate_frame + gate_size);
    }
    return static_cast<size_t>(std::max(most, last - first));
}

// What a task needs of each heap.
struct AdstackLaunch::Demand {
    int64_t strides[heap_kinds];
    int64_t rows[heap_kinds];
    bool used[heap_kinds];
    const char *source;
};

AdstackLaunch::AdstackLaunch(const AdstackPlan &plan, AdstackRun *run, TaskStarter *starter)
    : plan_(plan), run_(run), starter_(starter), told_(wants_lines()) {
    compute_depths();
}

int AdstackLaunch::prepare(size_t task) {
    for (const AdstackSizing &sizing : plan_.sizings) {
        if (task == sizing.begin) return run_->known ? recall_depths(sizing) : find_depths(sizing);
    }
    return 0;
}

int AdstackLaunch::queue(size_t task, const TaskExtent &extent) {
    Demand demand = demand_of(task, extent.threads);
    int status = plan_.tasks[task].gate_task >= 0 ? limit_rows(task, &demand) : 0;
    // Until the task is queued nobody else may make the heaps larger, and so move them.
    std::lock_guard<std::mutex> alone(run_->heaps->gate);
    if (status == 0) status = bind_heaps(task, demand);
    return status ? status : starter_->queue(task, extent.blocks, plan_.begin, plan_.end);
}

// Puts the depths that the arguments decide into the block.
void AdstackLaunch::compute_depths() {
    for (const AdstackDepth &depth : plan_.depths) {
        int64_t value = evaluate(depth.count, starter_->block);
        std::memcpy(starter_->block + depth.offset, &value, sizeof value);
        if (told_) tell_sizes(run_->arch, run_->name, starter_->block, depth.offset, 1, "arguments");
    }
}

// The depths of this launch that depend on memory of the device: tasks of their own find them, the host waits.
int AdstackLaunch::find_depths(const AdstackSizing &sizing) {
    int status = 0;
    for (size_t at = sizing.begin; status == 0 && at < sizing.end; ++at) status = starter_->start(at);
    if (status) return status;
    run_->maxima += maxima_of(sizing);
    if (told_) tell_maxima(run_->arch, run_->name, maxima_of(sizing), 0);
    char *depths = starter_->block + sizing.block_offset;
    status = starter_->fetch(sizing.frame_offset, depths, 8 * static_cast<size_t>(sizing.count));
    if (told_) tell_sizes(run_->arch, run_->name, starter_->block, sizing.block_offset, sizing.count, "tasks");
    return status;
}

int AdstackLaunch::recall_depths(const AdstackSizing &sizing) {
    if (told_) tell_sizes(run_->arch, run_->name, starter_->block, sizing.block_offset, sizing.count, "kept");
    if (told_) tell_maxima(run_->arch, run_->name, maxima_of(sizing), maxima_of(sizing));
    return 0;
}

// Threads without an iteration have no row.
AdstackLaunch::Demand AdstackLaunch::demand_of(size_t task, int64_t rows) const {
    Demand demand{{0, 0}, {rows, rows}, {false, false}, row_sources[0]};
    for (const AdstackSlots &stack : plan_.tasks[task].stacks) {
        int64_t depth = stack.depth;
        if (depth < 0) std::memcpy(&depth, starter_->block + stack.depth_offset, sizeof depth);
        demand.strides[stack.kind] = sum_bytes(demand.strides[stack.kind], stack_bytes(depth, stack.slot));
        demand.used[stack.kind] = true;
    }
    return demand;
}

HeapUse AdstackLaunch::use_of(size_t task, int kind, const Demand &demand) const {
    return {run_->arch,           run_->name,        plan_.tasks[task].number, kind,
            demand.strides[kind], demand.rows[kind], demand.source,              told_};
}

// Rows of real numbers for no more threads than get behind the condition, where that is worth counting them.
int AdstackLaunch::limit_rows(size_t task, Demand *demand) {
    int status = !is_counted(task) && pays(task, *demand) ? count_passing(task) : 0;
    int64_t rows = demand->rows[0], passing = rows;
    if (is_counted(task)) {
        passing = passing_[task];
        passing_[task] = -1;  // a loop of the graph counts anew
    }
    demand->source = row_sources[1];
    if (passing < rows) {
        demand->source = row_sources[passing > 0 ? 2 : 3];
        rows = demand->rows[0] = std::max<int64_t>(passing, 1);
    }
    std::memcpy(starter_->block + plan_.tasks[task].gate_rows, &rows, sizeof rows);
    return status;
}

// A heap that is large enough for all already is worth no counting, unless that is asked for in any case.
bool AdstackLaunch::pays(size_t task, const Demand &demand) const {
    const HeapUse all = use_of(task, 0, demand);
    if (plan_.gate_bytes > 0 && run_->heaps->holds(starter_->stream, all)) return false;
    return all.required() >= std::max<int64_t>(plan_.gate_bytes, 1);
}

// Of this task and of those after it whose depths are known too: one reading for all. No task of the kernel writes what
// conditions read.
int AdstackLaunch::count_passing(size_t first) {
    const std::vector<AdstackTask> &tasks = plan_.tasks;
    size_t end = tasks.size();
    for (const AdstackSizing &sizing : plan_.sizings) {
        if (sizing.begin > first) end = std::min(end, sizing.begin);
    }
    std::vector<size_t> counted;
    for (size_t at = first; at < end; ++at) {
        if (tasks[at].gate_task < 0) continue;
        const TaskExtent extent = starter_->extent(at);
        // It paid for the first: another launch on the stream may have made the heap larger since then.
        const bool wanted = at == first || pays(at, demand_of(at, extent.threads));
        if (extent.blocks && wanted) counted.push_back(at);
    }
    // Counts of later tasks are further on in the frame.
    const int64_t begin = tasks[counted.front()].gate_frame;
    std::vector<char> read(static_cast<size_t>(tasks[counted.back()].gate_frame + gate_size - begin));
    int status = starter_->clear(begin, read.size());
    for (size_t at : counted) {
        if (status == 0) status = starter_->start(static_cast<size_t>(tasks[at].gate_task));
    }
    if (told_) tell_counts(run_->arch, run_->name, counted.size());
    if (status == 0) status = starter_->fetch(begin, read.data(), read.size());
    passing_.resize(tasks.size(), -1);
    for (size_t at : counted) {
        std::memcpy(&passing_[at], read.data() + tasks[at].gate_frame - begin, sizeof passing_[at]);
    }
    return status;
}

// Memory for the stacks of a task, by way of the block.
int AdstackLaunch::bind_heaps(size_t task, const Demand &demand) {
    for (int kind = 0; kind < heap_kinds; ++kind) {
        if (!demand.used[kind]) continue;
        const HeapUse use = use_of(task, kind, demand);
        uint64_t address = 0;
        bool full = false;
        int status = run_->heaps->reserve(starter_->stream, use, &address, &full);
        if (status) return status;
        if (full) {
            fail_without_memory(run_->error, use, plan_.heap_site);
            return stopped;
        }
        std::memcpy(starter_->block + plan_.heap_offsets[kind], &address, sizeof address);
    }
    return 0;
}

}  // namespace qd
