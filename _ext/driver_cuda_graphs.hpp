// Tasks launched as graphs of NVIDIA's driver, loops as WHILE nodes. Part of driver.cpp.
#pragma once

#include <vector>

#include "driver_cuda_graph_entries.hpp"
#include "qd_device.h"

namespace qd {
namespace {

// A graph while it is described and, once it is finished, what is launched. The description is kept: bodies of loops
// belong to it.
struct CudaGraph {
    struct Node {
        Handle node;
        bool left_out;
    };
    // Where nodes are added: the graph, or the body of a loop.
    struct Place {
        Handle graph;
        std::vector<Handle> last{};  // what the next node comes behind
        bool last_is_task = false;
        std::vector<Handle> fork{};  // what branches come behind
        std::vector<Handle> ends{};  // of the branches before the open one
    };
    Handle graph = nullptr;
    Handle executable = nullptr;
    std::vector<Place> places;
    std::vector<Node> nodes;
};

template <class Driver>
struct CudaGraphs {
    using Call = CudaGraphEntries;

    static bool known() { return Call::add_node != nullptr; }

    static CudaGraph &of(void *graph) { return *static_cast<CudaGraph *>(graph); }

    static Status create(void *self, void **made) {
        auto *graph = new CudaGraph();
        *made = graph;
        return Driver::there(self, [=] {
            const Status status = Call::create(&graph->graph, 0);
            graph->places.push_back({graph->graph});
            return status;
        });
    }

    static Status add(void *self, void *to, const qd_graph_task *task) {
        CudaGraph &graph = of(to);
        NodeParams params{};
        params.type = kernel_node;
        params.of.kernel = node_of(*task);
        return Driver::there(self, [&] {
            const bool overlaps = task->early && graph.places.back().last_is_task && Driver::of(self).place.overlaps;
            const Status status = append(graph, &params, overlaps);
            graph.places.back().last_is_task = true;
            if (status == 0) graph.nodes.push_back({graph.places.back().last.front(), false});
            return status;
        });
    }

    static Status condition(void *self, void *to, uint64_t *handle) {
        return Driver::there(self, [=] {
            const Handle graph = of(to).places.back().graph;
            return Call::condition(handle, graph, Driver::of(self).place.context, 0, set_at_launch);
        });
    }

    static Status open_loop(void *self, void *to, uint64_t handle) {
        CudaGraph &graph = of(to);
        NodeParams params{};
        params.type = conditional_node;
        params.of.conditional = {handle, while_loop, 1, nullptr, Driver::of(self).place.context};
        return Driver::there(self, [&] {
            const Status status = append(graph, &params, false);
            graph.places.back().last_is_task = false;
            if (status == 0) graph.places.push_back({params.of.conditional.graphs[0]});
            return status;
        });
    }

    static Status close_loop(void *, void *graph) {
        of(graph).places.pop_back();
        return 0;
    }

    static Status open_branches(void *, void *graph) {
        CudaGraph::Place &place = of(graph).places.back();
        place.fork = place.last;
        place.ends.clear();
        place.last_is_task = false;
        return 0;
    }

    static Status next_branch(void *, void *graph) {
        CudaGraph::Place &place = of(graph).places.back();
        end_branch(place);
        place.last = place.fork;
        return 0;
    }

    static Status close_branches(void *, void *graph) {
        CudaGraph::Place &place = of(graph).places.back();
        end_branch(place);
        place.last = place.ends.empty() ? place.fork : place.ends;
        return 0;
    }

    static Status finish(void *self, void *graph) {
        return Driver::there(self, [=] { return Call::instantiate(&of(graph).executable, of(graph).graph, 0); });
    }

    static Status set(void *self, void *to, size_t at, const qd_graph_task *task) {
        CudaGraph &graph = of(to);
        CudaGraph::Node &node = graph.nodes[at];
        return Driver::there(self, [&] {
            const bool left_out = task->grid == 0;
            Status status = 0;
            if (left_out != node.left_out) status = Call::enable(graph.executable, node.node, !left_out);
            if (status == 0) node.left_out = left_out;
            const KernelNode params = node_of(*task);
            return status || left_out ? status : Call::set_kernel(graph.executable, node.node, &params);
        });
    }

    static Status launch(void *self, void *graph, void *stream) {
        return Driver::there(self, [=] { return Call::launch(of(graph).executable, stream); });
    }

    static Status destroy(void *self, void *graph) {
        const Status status = Driver::there(self, [=] {
            Status first = of(graph).executable ? Call::destroy_executable(of(graph).executable) : 0;
            Status then = of(graph).graph ? Call::destroy(of(graph).graph) : 0;
            return first ? first : then;
        });
        delete static_cast<CudaGraph *>(graph);
        return status;
    }

    static constexpr qd_graph_api api = {create,         add,    condition, open_loop, close_loop, open_branches, next_branch,
                                         close_branches, finish, set,       launch,    destroy};

  private:
    static KernelNode node_of(const qd_graph_task &task) {
        return {task.function, {task.grid, 1, 1}, {task.block, 1, 1}, task.shared_bytes, task.params, nullptr, nullptr, nullptr};
    }

    // Behind what is last in the innermost place. overlaps: it may start before that has ended.
    static Status append(CudaGraph &graph, NodeParams *params, bool overlaps) {
        CudaGraph::Place &place = graph.places.back();
        Handle node = nullptr;
        const Status status = Call::add_node(&node, place.graph, place.last.empty() ? nullptr : place.last.data(),
                                             overlaps ? &overlapping_edge : nullptr, place.last.size(), params);
        if (status == 0) place.last = {node};
        return status;
    }

    // A branch without a node ends where it began, which the others come behind anyhow.
    static void end_branch(CudaGraph::Place &place) {
        if (place.last != place.fork) place.ends.insert(place.ends.end(), place.last.begin(), place.last.end());
        place.last_is_task = false;
    }
};

}  // namespace
}  // namespace qd
