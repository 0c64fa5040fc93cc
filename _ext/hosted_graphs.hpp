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
    HostedGraph() : lists_(1), open_{0} {}

    void add(const qd_graph_task &task) {
        lists_[open_.back()].steps.push_back({tasks_.size(), Kind::task});
        tasks_.emplace_back();
        set(tasks_.size() - 1, task);
    }

    // The address of where a task writes whether the loop runs again.
    uint64_t condition() {
        conditions_.push_back(0);
        return reinterpret_cast<uint64_t>(&conditions_.back());
    }

    void open_loop(uint64_t handle) {
        open(Kind::loop, reinterpret_cast<uint64_t *>(handle));
    }

    void close_loop() { open_.pop_back(); }

    void open_branches() {
        open(Kind::branches);
        depth_ = open_.size();
    }

    void next_branch() {
        open_.resize(depth_);
        open(Kind::branch);
    }

    void close_branches() { open_.resize(depth_ - 1); }

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
    enum class Kind { task, loop, branches, branch };
    struct Step {
        size_t at;  // of a task, or of the list that is the body of a loop, the branches, or one of them
        Kind kind;
    };
    struct List {
        uint64_t *condition;  // of a loop
        std::vector<Step> steps;
    };

    // A list of steps in the one that is open now.
    void open(Kind kind, uint64_t *condition = nullptr) {
        lists_[open_.back()].steps.push_back({lists_.size(), kind});
        open_.push_back(lists_.size());
        lists_.push_back({condition, {}});
    }

    template <class Launch>
    int run(size_t list, Launch launch) {
        int status = 0;
        for (const Step &step : lists_[list].steps) {
            if (status == 0) status = step_of(step, launch);
        }
        return status;
    }

    template <class Launch>
    int step_of(const Step &step, Launch launch) {
        int status = 0;
        if (step.kind == Kind::task) {
            Task &task = tasks_[step.at];
            return task.description.grid ? launch(task.description, task.params.data()) : 0;
        }
        if (step.kind == Kind::loop) {
            while (status == 0 && *lists_[step.at].condition) status = run(step.at, launch);
            return status;
        }
        // The last branch first, so that programs whose branches need an order differ from what they give elsewhere.
        const std::vector<Step> &branches = lists_[step.at].steps;
        for (auto branch = branches.rbegin(); status == 0 && branch != branches.rend(); ++branch) {
            status = run(branch->at, launch);
        }
        return status;
    }

    std::vector<Task> tasks_;
    std::vector<List> lists_;  // the first one is the graph
    std::vector<size_t> open_;
    size_t depth_ = 0;  // of `open_` with the branches that are open
    std::deque<uint64_t> conditions_;
};

}  // namespace
}  // namespace qd
