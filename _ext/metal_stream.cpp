#include "metal_stream.hpp"

#include <algorithm>
#include <chrono>

namespace qd {
namespace metal {
namespace {

constexpr uint64_t serial = 0;             // MTLDispatchTypeSerial
constexpr uint64_t read_and_write = 1 | 2;  // MTLResourceUsageRead, MTLResourceUsageWrite
constexpr uint64_t completed = 4;          // MTLCommandBufferStatusCompleted
constexpr uint64_t in_error = 5;           // MTLCommandBufferStatusError
constexpr int most_parts = 64;             // of a command buffer
constexpr size_t most_names = 8;
constexpr auto polling = std::chrono::microseconds(50);  // a thread that sleeps wakes late

// What a code of MTLCommandBufferErrorDomain stands for.
const char *meaning(int64_t code) {
    switch (code) {
        case 2: return "a time limit";
        case 3: return "a page fault, an access out of range";
        case 4: return "access to the device was revoked";
        case 8: return "out of memory";
        case 9: return "memory that was freed";
        case 11: return "the device was removed";
        case 12: return "the stack of a thread overflowed";
        default: return "usually an access out of range or a time limit";
    }
}

}  // namespace

Stream::Stream(Id device, Id queue, uint64_t number)
    : queue_(queue ? Ref() : Ref::counted(say.new_queue(device))),
      lent_(queue ? queue : queue_.id()),
      borrowed_(queue != nullptr),
      number_(number),
      timeline_(Ref::counted(say.new_event(device))) {}

// An encoder must be ended before it goes.
Stream::~Stream() {
    end_encoder();
    for (Moment *moment : waiting_) moment->commands = Ref();
}

bool Stream::begin() {
    if (!commands_) commands_ = Ref::to(say.commands(lent_));
    return static_cast<bool>(commands_);
}

void Stream::end_encoder() {
    if (encoder_) say.end(encoder_.id());
    encoder_ = Ref();
    tasks_in_encoder_ = 0;
}

Id Stream::compute(const std::vector<Id> &used, uint64_t version) {
    if (!begin()) return nullptr;
    if (!encoder_ || copies_) {
        end_encoder();
        encoder_ = Ref::to(say.compute_encoder(commands_.id(), serial));
        copies_ = false;
        version_ = version - 1;
    }
    // Kernels find memory through numbers in their arguments, which Metal does not see.
    if (encoder_ && version_ != version) {
        if (!used.empty()) say.use(encoder_.id(), used.data(), used.size(), read_and_write);
        version_ = version;
    }
    return encoder_.id();
}

Id Stream::copies() {
    if (!begin()) return nullptr;
    if (!encoder_ || !copies_) {
        end_encoder();
        encoder_ = Ref::to(say.copy_encoder(commands_.id()));
        copies_ = true;
    }
    return encoder_.id();
}

void Stream::launched(const TaskName &task) {
    ++tasks_in_encoder_;
    tasks_.push_back(task);
    copied();
}

void Stream::copied() {
    if (++parts_ >= most_parts) commit();
}

bool Stream::wait_for(Id timeline, uint64_t value) {
    if (!begin()) return false;
    end_encoder();
    say.wait_for(commands_.id(), timeline, value);
    return true;
}

void Stream::commit() {
    if (!commands_) return;
    end_encoder();
    say.signal(commands_.id(), timeline_.id(), ++committed_);
    say.commit(commands_.id());
    for (Moment *moment : waiting_) {
        moment->commands = commands_;
        moment->at_begin = true;
    }
    waiting_.clear();
    last_ = commands_;
    flight_.push_back({std::move(commands_), committed_, std::move(tasks_)});
    commands_ = Ref();
    tasks_.clear();
    parts_ = 0;
    retire();
}

void Stream::commit_if_idle() {
    retire();
    if (borrowed_ || flight_.empty()) commit();
}

void Stream::retire() {
    while (!flight_.empty() && say.status(flight_.front().commands.id()) >= completed) {
        const InFlight &work = flight_.front();
        if (say.status(work.commands.id()) == in_error && failure_.empty()) fail(work);
        done_ = work.value;
        flight_.pop_front();
    }
}

void Stream::fail(const InFlight &work) {
    std::string names;
    for (size_t at = 0; at < work.tasks.size() && at < most_names; ++at) {
        names += (at ? ", " : " while running ") + *work.tasks[at];
    }
    if (work.tasks.size() > most_names) names += " and " + std::to_string(work.tasks.size() - most_names) + " more";
    const Id error = say.error(work.commands.id());
    failure_ = "the device failed" + names + ": " + meaning(say.code(error)) + "; Metal says: " + text_of_error(error) +
               ". Run with debug=True to find accesses out of range; what memory holds is lost, call qd.init() again";
}

bool Stream::idle() {
    retire();
    return !open() && flight_.empty();
}

void Stream::wait(Gate *gate, uint64_t value) {
    const auto until = std::chrono::steady_clock::now() + polling;
    for (retire(); !flight_.empty() && flight_.front().value <= value; retire()) {
        const Ref commands = flight_.front().commands, timeline = timeline_;
        gate->unlock();
        while (say.signaled(timeline.id()) < value && std::chrono::steady_clock::now() < until) {
        }
        say.wait(commands.id());
        gate->lock();
    }
}

void Stream::note(Moment *moment) {
    const bool ends = open();
    if (ends) commit();
    moment->commands = last_;
    moment->at_begin = false;
    if (!ends) waiting_.push_back(moment);
}

void Stream::forget(Moment *moment) { waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), moment), waiting_.end()); }

}  // namespace metal
}  // namespace qd
