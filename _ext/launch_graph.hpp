// A kernel's tasks as one graph of the device: described once, launched again with other arguments.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device.hpp"

namespace qd {

struct DeviceKernel;
struct DeviceRun;

// Of the kernel on one stream, whose frame it has.
class LaunchGraph {
  public:
    LaunchGraph(const DeviceKernel &kernel, const DeviceRun &launch);
    LaunchGraph(const LaunchGraph &) = delete;
    LaunchGraph &operator=(const LaunchGraph &) = delete;
    ~LaunchGraph();

    // Whether it can hold the tasks for these arguments: the device tells no task in a loop that it has nothing to do.
    static bool fits(const DeviceKernel &kernel, const DeviceRun &launch);

    // Describes the tasks to the device. Status of the driver.
    int build(const DeviceKernel &kernel, const DeviceRun &launch);

    // Changes what other arguments than the last ones change, and starts it. Status of the driver.
    int start(const DeviceKernel &kernel, const DeviceRun &launch);

    size_t tasks() const { return nodes_.size(); }

  private:
    static constexpr size_t none = SIZE_MAX;
    // A task of the kernel, or what decides whether the loop `region` runs again.
    struct Node {
        size_t task;
        size_t region;
        uint64_t handle;
        bool ahead;  // of a loop with passes that are launched before it is known whether they are wanted
        bool more;   // such a pass follows
        uint32_t grid;  // 0: left out
    };

    int inside(int32_t region, size_t begin, size_t end);
    int tasks_between(size_t begin, size_t end);
    int branches(const std::vector<size_t> &regions);
    int loop(size_t region);
    int passes(size_t region, uint64_t handle);
    int add(const Node &node);
    int update();

    // What a node is now, handed to `use`.
    template <class Use>
    int described(const Node &node, uint32_t grid, Use use) const;

    const qd_graph_api *api_;
    void *self_;
    void *graph_ = nullptr;
    std::vector<Node> nodes_;
    std::vector<char> block_;  // the arguments that the nodes have
    const DeviceKernel *kernel_ = nullptr;  // while it is built or started
    const DeviceRun *launch_ = nullptr;
};

// The graphs of a kernel, by stream, and how often it was launched there without one.
class LaunchGraphs {
  public:
    // after: launches on a stream before it gets a graph; -1: it never does.
    void use(int32_t after, void *condition) {
        after_ = after;
        condition_ = condition;
    }

    // The task that decides whether loops run again, null where the host does.
    void *condition() const { return condition_; }

    // Starts the launch as a graph if that is due, and says so in `done`. Status of the driver. The caller holds the
    // gate of the kernel.
    int start(const DeviceKernel &kernel, const DeviceRun &launch, bool *done);

    bool wanted() const { return after_ >= 0; }

  private:
    struct Stream {
        int32_t launches = 0;
        std::unique_ptr<LaunchGraph> graph;
    };
    int32_t after_ = -1;
    void *condition_ = nullptr;
    bool asked_ = false;
    std::map<void *, Stream> streams_;
};

// What graphs did in this process.
struct GraphCounts {
    int64_t alive, builds;
    int64_t last_tasks;  // of the last launch on a device, 0: it was no graph
    bool last_was_built;   // before that launch
};
GraphCounts graph_counts();
void count_launch_without_graph();

}  // namespace qd
