#include "turns.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace qd {

Turns turns;

namespace {

// A thread takes longer to wake than most kernels take.
constexpr std::chrono::microseconds spin_time(20);

struct Sleep {
    std::mutex mutex;
    std::condition_variable changed;
};

Sleep *sleepers = new Sleep;

#ifndef _WIN32
// The threads whose turns were under way do not exist in a forked child, which has the GIL.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
    sleepers = new Sleep;
    turns.serving.store(turns.next);
    turns.holder = turns.depth = 0;
});
#endif

}  // namespace

void wait_for_turn(uint64_t turn) {
    auto end = std::chrono::steady_clock::now() + spin_time;
    while (std::chrono::steady_clock::now() < end) {
        if (is_turn(turn)) return;
    }
    std::unique_lock<std::mutex> lock(sleepers->mutex);
    sleepers->changed.wait(lock, [turn] { return is_turn(turn); });
}

void wake_next_turn() {
    std::lock_guard<std::mutex> lock(sleepers->mutex);
    turns.serving.fetch_add(1, std::memory_order_release);
    sleepers->changed.notify_all();
}

}  // namespace qd
