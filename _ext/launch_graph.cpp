#include "launch_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "device_launch.hpp"

namespace qd {

namespace {

std::atomic<int64_t> alive{0}, builds{0}, last_tasks{0};
std::atomic<bool> last_was_built{false};

// Loops in loops in loops are described eight times, and more has no use.
constexpr int deepest = 3;

int depth_of(const DeviceKernel &kernel, size_t region) {
    int depth = 0;
    for (int32_t at = static_cast<int32_t>(region); at >= 0; at = kernel.regions[at].parent) {
        depth += kernel.regions[at].kind == RegionKind::loop;
    }
    return depth;
}

bool has_loops(const DeviceKernel &kernel) {
    return std::any_of(kernel.regions.begin(), kernel.regions.end(),
                       [](const DeviceRegion &region) { return region.kind == RegionKind::loop; });
}

// Whether the order of the tasks is one that a graph can have, whatever the arguments.
bool describable(const DeviceKernel &kernel) {
    if (kernel.tasks.size() < 2 && !has_loops(kernel)) return false;
    for (size_t at = 0; at < kernel.regions.size(); ++at) {
        const DeviceRegion &region = kernel.regions[at];
        if (region.kind == RegionKind::checkpoint) return false;
        if (region.kind == RegionKind::loop &&
            (region.random || !kernel.graphs.condition() || depth_of(kernel, at) > deepest)) {
            return false;
        }
    }
    return true;
}

// How many passes are launched at once, by the tasks of one.
int passes_of(size_t tasks) { return tasks <= 2 ? 8 : tasks <= 4 ? 4 : 2; }

}  // namespace

GraphCounts graph_counts() { return {alive, builds, last_tasks, last_was_built}; }

void count_launch_without_graph() { last_tasks = 0; }

LaunchGraph::LaunchGraph(const DeviceKernel &kernel, const DeviceRun &launch)
    : api_(kernel.api->graphs()), self_(kernel.api->self()) {
    ++alive;
    block_.assign(launch.block, launch.block + kernel.block_bytes);
}

LaunchGraph::~LaunchGraph() {
    --alive;
    if (graph_) api_->destroy(self_, graph_);
}

bool LaunchGraph::fits(const DeviceKernel &kernel, const DeviceRun &launch) {
    for (const DeviceRegion &region : kernel.regions) {
        if (region.kind != RegionKind::loop) continue;
        for (size_t at = region.begin; at < region.end; ++at) {
            if (blocks_of(kernel.tasks[at], launch.block) == 0) return false;
        }
    }
    return true;
}

int LaunchGraph::build(const DeviceKernel &kernel, const DeviceRun &launch) {
    kernel_ = &kernel;
    launch_ = &launch;
    ++builds;
    int status = api_->create(self_, &graph_);
    if (status == 0) status = inside(-1, 0, kernel.tasks.size());
    return status ? status : api_->finish(self_, graph_);
}

int LaunchGraph::start(const DeviceKernel &kernel, const DeviceRun &launch) {
    kernel_ = &kernel;
    launch_ = &launch;
    const int status = update();
    return status ? status : api_->launch(self_, graph_, launch.stream);
}

// Tasks from `begin` to `end` and the regions in `region` around them.
int LaunchGraph::inside(int32_t region, size_t begin, size_t end) {
    int status = 0;
    const auto &regions = kernel_->regions;
    std::vector<size_t> open;  // branches up to `begin` that others may stand beside
    for (size_t k = static_cast<size_t>(region + 1); status == 0 && k < regions.size(); ++k) {
        if (regions[k].parent != region) continue;
        const bool branch = regions[k].kind == RegionKind::branch;
        if (!branch || regions[k].begin > begin) {
            status = branches(open);
            open.clear();
        }
        if (status == 0) status = tasks_between(begin, regions[k].begin);
        begin = regions[k].end;
        if (status) break;
        if (branch) {
            open.push_back(k);
        } else if (regions[k].kind == RegionKind::loop) {
            status = loop(k);
        } else {
            status = inside(static_cast<int32_t>(k), regions[k].begin, regions[k].end);
        }
    }
    if (status == 0) status = branches(open);
    return status ? status : tasks_between(begin, end);
}

int LaunchGraph::branches(const std::vector<size_t> &regions) {
    if (regions.empty()) return 0;
    int status = api_->open_branches(self_, graph_);
    for (size_t at = 0; status == 0 && at < regions.size(); ++at) {
        const DeviceRegion &branch = kernel_->regions[regions[at]];
        status = api_->next_branch(self_, graph_);
        if (status == 0) status = inside(static_cast<int32_t>(regions[at]), branch.begin, branch.end);
    }
    return status ? status : api_->close_branches(self_, graph_);
}

int LaunchGraph::tasks_between(size_t begin, size_t end) {
    int status = 0;
    for (size_t at = begin; status == 0 && at < end; ++at) status = add({at, none, 0, false, false, 0});
    return status;
}

// The first pass stands before the loop, which costs a launch that needs no second one less.
int LaunchGraph::loop(size_t region) {
    const DeviceRegion &found = kernel_->regions[region];
    uint64_t handle = 0;
    int status = api_->condition(self_, graph_, &handle);
    if (status == 0) status = inside(static_cast<int32_t>(region), found.begin, found.end);
    if (status == 0) status = add({none, region, handle, false, false, 0});
    if (status == 0) status = api_->open_loop(self_, graph_, handle);
    if (status == 0) status = passes(region, handle);
    return status ? status : api_->close_loop(self_, graph_);
}

// What runs each time: several passes where their tasks can find out that they come too late, as to go round again
// takes the device longer than a few tasks that do nothing.
int LaunchGraph::passes(size_t region, uint64_t handle) {
    const DeviceRegion &found = kernel_->regions[region];
    const int count = found.ended_offset < 0 ? 1 : passes_of(found.end - found.begin);
    int status = 0;
    for (int pass = 1; status == 0 && pass <= count; ++pass) {
        status = inside(static_cast<int32_t>(region), found.begin, found.end);
        if (status == 0) status = add({none, region, handle, count > 1, pass < count, 0});
    }
    return status;
}

int LaunchGraph::add(const Node &node) {
    nodes_.push_back(node);
    Node &added = nodes_.back();
    added.grid = node.task == none ? 1 : blocks_of(kernel_->tasks[node.task], launch_->block);
    const uint32_t grid = std::max(added.grid, 1u);
    const int status = described(added, grid, [this](const qd_graph_task &task) { return api_->add(self_, graph_, &task); });
    // What is left out is so from `update` on.
    if (added.grid == 0) added.grid = grid;
    return status;
}

int LaunchGraph::update() {
    const bool same = std::memcmp(block_.data(), launch_->block, block_.size()) == 0;
    const bool changed = !same && !kernel_->block_in_memory;
    int status = 0;
    for (size_t at = 0; status == 0 && at < nodes_.size(); ++at) {
        Node &node = nodes_[at];
        const uint32_t grid = node.task == none ? 1 : blocks_of(kernel_->tasks[node.task], launch_->block);
        // What decides about a loop has the address of its flag from the arguments, wherever these are.
        const bool other = node.task == none ? !same : changed;
        if (!other && grid == node.grid) continue;
        status = described(node, grid, [=](const qd_graph_task &task) { return api_->set(self_, graph_, at, &task); });
        node.grid = grid;
    }
    if (!same) std::memcpy(block_.data(), launch_->block, block_.size());
    return status;
}

template <class Use>
int LaunchGraph::described(const Node &node, uint32_t grid, Use use) const {
    if (node.task == none) {
        const DeviceRegion &region = kernel_->regions[node.region];
        uint64_t handle = node.handle, flag, record = 0, ended = 0;
        uint32_t more = node.more;
        std::memcpy(&flag, launch_->block + region.flag_offset, sizeof flag);
        if (kernel_->error_offset >= 0) record = launch_->memory.frame + static_cast<uint64_t>(kernel_->error_offset);
        if (node.ahead) ended = launch_->memory.frame + static_cast<uint64_t>(region.ended_offset);
        void *params[] = {&handle, &flag, &record, &ended, &more};
        const size_t sizes[] = {sizeof handle, sizeof flag, sizeof record, sizeof ended, sizeof more};
        return use(qd_graph_task{kernel_->graphs.condition(), 1, 1, 0, kernel_->early, 5, params, sizes});
    }
    const DeviceTask &task = kernel_->tasks[node.task];
    uint64_t block = launch_->memory.block, frame = launch_->memory.frame;
    void *params[] = {kernel_->block_in_memory ? static_cast<void *>(&block) : launch_->block, &frame};
    const size_t sizes[] = {kernel_->block_in_memory ? sizeof block : kernel_->block_bytes, sizeof frame};
    return use(qd_graph_task{task.function, grid, task.block, task.shared_bytes, kernel_->early, 2, params, sizes});
}

int LaunchGraphs::start(const DeviceKernel &kernel, const DeviceRun &launch, bool *done) {
    *done = false;
    if (!asked_) {
        asked_ = true;
        if (!describable(kernel)) after_ = -1;
    }
    if (!wanted()) return 0;
    Stream &stream = streams_[launch.stream];
    if (stream.launches < after_) {
        ++stream.launches;
        return 0;
    }
    if (!LaunchGraph::fits(kernel, launch)) return 0;
    int status = 0;
    last_was_built = stream.graph != nullptr;
    if (!stream.graph) {
        auto graph = std::make_unique<LaunchGraph>(kernel, launch);
        status = graph->build(kernel, launch);
        if (status) return status;
        stream.graph = std::move(graph);
    }
    *done = true;
    last_tasks = static_cast<int64_t>(stream.graph->tasks());
    return stream.graph->start(kernel, launch);
}

}  // namespace qd
