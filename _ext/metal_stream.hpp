// A queue of Metal, whose work is put together in command buffers: one for many launches.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metal_messages.hpp"

namespace qd {
namespace metal {

using Gate = std::unique_lock<std::mutex>;
using TaskName = std::shared_ptr<const std::string>;

// When an event came to pass: at the begin or at the end of a command buffer, null as long as none is known.
struct Moment {
    Ref commands;
    bool at_begin = false;

    double seconds() const { return at_begin ? say.began(commands.id()) : say.ended(commands.id()); }
};

// The work of a queue has numbers: that of the nth command buffer is n, and the event `timeline` has that value when it is
// done. Not thread-safe: a gate of the device is held around every call.
class Stream {
  public:
    // queue: of somebody else, who wants to see at once what is put there, or null for one of our own.
    Stream(Id device, Id queue, uint64_t number);
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream();

    // False where Metal gave no queue or no event.
    bool usable() const { return lent_ && timeline_; }
    bool borrowed() const { return borrowed_; }
    uint64_t number() const { return number_; }
    const Ref &timeline() const { return timeline_; }

    // The encoder of what is put on the queue next, null where Metal gives none. used: what kernels may reach; version:
    // grows whenever that is something else.
    Id compute(const std::vector<Id> &used, uint64_t version);
    Id copies();
    // A task was put on the encoder `compute`, or a copy on `copies`.
    void launched(const TaskName &task);
    void copied();
    // Whether the encoder has a task whose results the next one may read.
    bool follows() const { return encoder_ && !copies_ && tasks_in_encoder_ > 0; }
    // Later work waits for the value of the timeline of another stream.
    bool wait_for(Id timeline, uint64_t value);

    bool open() const { return static_cast<bool>(commands_); }
    // Starts what was put on the queue.
    void commit();
    void commit_if_idle();
    // The number of the last work so far, and of the last that is done.
    uint64_t last() const { return committed_ + (open() ? 1 : 0); }
    uint64_t done() const { return done_; }
    bool idle();
    // Waits for the work of that number, which was committed, with the gate open meanwhile.
    void wait(Gate *gate, uint64_t value);
    // Takes note of work that is done.
    void retire();
    // What work failed with, "" for nothing; it stays.
    const std::string &failure() const { return failure_; }

    // Fills in a moment: the end of work that is open, and else the begin of what comes next.
    void note(Moment *moment);
    void forget(Moment *moment);

  private:
    struct InFlight {
        Ref commands;
        uint64_t value;
        std::vector<TaskName> tasks;
    };

    bool begin();
    void end_encoder();
    void fail(const InFlight &work);

    Ref queue_;
    Id lent_ = nullptr;
    bool borrowed_;
    uint64_t number_;
    Ref timeline_;
    uint64_t committed_ = 0, done_ = 0;
    std::deque<InFlight> flight_;
    std::string failure_;

    Ref last_;  // the command buffer that was committed last
    Ref commands_, encoder_;
    bool copies_ = false;
    uint64_t version_ = 0;
    int tasks_in_encoder_ = 0, parts_ = 0;  // parts: tasks and copies of the command buffer
    std::vector<TaskName> tasks_;
    std::vector<Moment *> waiting_;
};

}  // namespace metal
}  // namespace qd
