// Graphs of the devices that the SIMT emulator is. Part of hosted.cpp.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "qd_device.h"

namespace qd {
namespace {

class HostedGraph {
  public:
    HostedGraph() : loops_(1), open_{0} {}

    void add(const qd_graph_task &task) {
        loops_[open_.back()].steps.push_back({tasks_.size(), false});
        tasks_.emplace_back();
        set(tasks_.size() - 1, task);
    }

    // The address of where a task writes whether the loop runs again.
    uint64_t condition() {
        conditions_.push_back(0);
        return reinterpret_cast<uint64_t>(&conditions_.back());
    }

    void open_loop(uint64_t handle) {
        loops_[open_.back()].steps.push_back({loops_.size(), true});
        open_.push_back(loops_.size());
        loops_.push_back({reinterpret_cast<uint64_t *>(handle), {}});
    }

    void close_loop() { open_.pop_back(); }

    void set(size_t at, const qd_graph_task &task) {
        Task &kept = tasks_[at];
        kept.description = task;
        kept.values.resize(task.param_count);
        kept.params.resize(task.param_count);
        kept.sizes.assign(task.param_bytes, task.param_bytes + task.param_count);
        for (int32_t k = 0; k < task.param_count; ++k) {
            // Whole words, so that the copy is aligned as the value was.
            kept.values[k].resize((task.param_bytes[k] + 7) / 8);
            std::memcpy(kept.values[k].data(), task.params[k], task.param_bytes[k]);
            kept.params[k] = kept.values[k].data();
        }
    }

    // launch(task, params): a status.
    template <class Launch>
    int run(Launch launch) {
        for (uint64_t &condition : conditions_) condition = 0;
        return run(0, launch);
    }

  private:
    struct Task {
        qd_graph_task description;
        std::vector<std::vector<uint64_t>> values;
        std::vector<void *> params;
        std::vector<size_t> sizes;
    };
    struct Step {
        size_t at;  // of a task, or of a loop
        bool is_loop;
    };
    struct Loop {
        uint64_t *condition;
        std::vector<Step> steps;
    };

    template <class Launch>
    int run(size_t loop, Launch launch) {
        for (const Step &step : loops_[loop].steps) {
            int status = 0;
            if (step.is_loop) {
                while (status == 0 && *loops_[step.at].condition) status = run(step.at, launch);
            } else if (tasks_[step.at].description.grid) {
                status = launch(tasks_[step.at].description, tasks_[step.at].params.data());
            }
            if (status) return status;
        }
        return 0;
    }

    std::vector<Task> tasks_;
    std::vector<Loop> loops_;  // the first one is the graph
    std::vector<size_t> open_;
    std::deque<uint64_t> conditions_;
};

}  // namespace
}  // namespace qd
