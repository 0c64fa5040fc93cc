// The launch of the tasks of a kernel, for whoever has to start some of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qd {

// A status that no driver has: the launch ends here, and the failure is noted already.
constexpr int stopped = INT32_MIN;

// Blocks of a task, and their threads that have an iteration.
struct TaskExtent {
    uint32_t blocks;
    int64_t threads;
};

// What a launch of tasks offers to those who take part in it. Every status is that of the driver, 0 for success, or
// `stopped`.
class TaskStarter {
  public:
    virtual int start(size_t task) = 0;  // with all that belongs to it
    // It alone. [begin, end): a part of the block that has changed.
    virtual int queue(size_t task, uint32_t blocks, int64_t begin, int64_t end) = 0;
    virtual TaskExtent extent(size_t task) const = 0;
    virtual int fetch(int64_t frame_offset, void *value, size_t bytes) = 0;
    virtual int clear(int64_t frame_offset, size_t bytes) = 0;

    void *const stream;
    char *const block;

  protected:
    TaskStarter(void *stream, char *block) : stream(stream), block(block) {}
    ~TaskStarter() = default;
};

}  // namespace qd
