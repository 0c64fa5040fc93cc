#include "simt.hpp"

#include <pthread.h>
#include <setjmp.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "fpmode.hpp"
#include "simt_warp.hpp"

namespace qd::simt {
namespace {

enum Status { success = 0, bad_launch = 1, failed_launch = 2 };

// One launch at a time in a process: kernels have their built-in variables and shared memory at fixed addresses.
struct Engine {
    std::mutex lock;
    Block block;
    Thread *current = nullptr;  // null where the threads of a block are not fibers
    void *host = nullptr;       // where the scheduler goes on when a fiber stops
    void **params = nullptr;
    jmp_buf next;  // where a thread that is no fiber ends
    std::vector<Fiber> stacks;
    std::string trouble;  // why the launch has to stop
    std::string text;     // printed by it
    std::string captured;
    bool capture = false;
};

Engine &engine() {
    static Engine *one = new Engine;  // never destroyed: a thread may be in a kernel when Python ends
    return *one;
}

thread_local std::string last_error;

// ---- what kernels call

[[noreturn]] void stop(State state) {
    Engine &e = engine();
    if (!e.current) _longjmp(e.next, 1);
    e.current->state = state;
    qd_simt_switch(&e.current->fiber.resume, e.host);
    std::abort();  // nobody goes on with a thread that has ended
}

[[noreturn]] void give_up(const std::string &why) {
    engine().trouble = why;
    stop(State::left);
}

uint32_t number_of(const Thread *thread) { return static_cast<uint32_t>(thread - engine().block.threads.data()); }

Thread *waiting_thread(const char *call) {
    Engine &e = engine();
    if (!e.current) give_up(std::string(call) + " in a kernel that was made without cooperation of its threads");
    return e.current;
}

int barrier(int kind, int predicate) {
    Engine &e = engine();
    Thread *self = waiting_thread(barrier_name(*e.block.function, kind));
    self->what = static_cast<uint8_t>(kind);
    self->predicate = predicate;
    self->state = State::in_barrier;
    qd_simt_switch(&self->fiber.resume, e.host);
    return self->predicate;
}

__attribute__((noinline)) void note_calls(Thread *self, void **frame) {
    self->calls = 0;
    // A frame starts with the address of the caller's, then where to return to.
    char *low = reinterpret_cast<char *>(frame);
    while (self->calls < most_calls && low >= self->fiber.low && low <= self->fiber.high - 2 * sizeof(void *)) {
        void **words = reinterpret_cast<void **>(low);
        self->sites[self->calls++] = words[1];
        if (static_cast<char *>(words[0]) <= low) break;
        low = static_cast<char *>(words[0]);
    }
}

unsigned long long warp(int op, int lockstep, unsigned long long mask, unsigned long long value, int lane) {
    Engine &e = engine();
    const int width = e.block.function->warp;
    Thread *self = waiting_thread(op_name(*e.block.function, op));
    const uint32_t number = number_of(self);
    if (!lockstep && !(mask >> (number % width) & 1))
        give_up("thread " + std::to_string(number) + " calls " + op_name(*e.block.function, op) +
                " with a mask that leaves out its own lane");
    self->what = static_cast<uint8_t>(op);
    self->lockstep = lockstep;
    self->mask = mask;
    self->value = value;
    self->lane = lane;
    if (lockstep) note_calls(self, static_cast<void **>(__builtin_frame_address(0)));
    self->state = State::in_warp;
    qd_simt_switch(&self->fiber.resume, e.host);
    return self->result;
}

void leave() { stop(State::left); }

int print(const char *format, ...) {
    char room[512];
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const int size = std::vsnprintf(room, sizeof room, format, values);
    if (size >= static_cast<int>(sizeof room)) {
        std::string longer(static_cast<size_t>(size) + 1, '\0');
        std::vsnprintf(&longer[0], longer.size(), format, again);
        engine().text.append(longer, 0, static_cast<size_t>(size));
    } else if (size > 0) {
        engine().text.append(room, static_cast<size_t>(size));
    }
    va_end(again);
    va_end(values);
    return size;
}

unsigned long long now() {
    return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

const qd_simt_api api = {barrier, warp, leave, print, now};

// ---- one block

void fiber_body() {
    Engine &e = engine();
    e.block.function->entry->call(e.params);
    stop(State::ended);
}

// Runs a thread until it waits or ends. False when the launch has to stop.
bool go(uint32_t number) {
    Engine &e = engine();
    Thread &thread = e.block.threads[number];
    if (thread.state == State::fresh) {
        if (e.stacks.empty()) {
            Fiber made;
            if (!make_stack(made, e.trouble)) return false;
            e.stacks.push_back(made);
        }
        thread.fiber = e.stacks.back();
        e.stacks.pop_back();
        prepare(thread.fiber, fiber_body);
    }
    thread.state = State::ready;
    e.block.function->entry->module->thread->x = number;
    e.current = &thread;
    qd_simt_switch(&e.host, thread.fiber.resume);
    if (thread.state == State::ended || thread.state == State::left) {
        e.stacks.push_back(thread.fiber);
        thread.fiber = Fiber{};
    }
    return e.trouble.empty();
}

// Runs the lanes of a warp until none can go on by itself. The middle lane is first: what a lane reads of another one's
// that has not written yet shows, whichever neighbour it is.
bool run_warp(uint32_t begin, uint32_t count, bool &moved) {
    Engine &e = engine();
    Thread *threads = e.block.threads.data() + begin;
    do {
        for (uint32_t k = 0; k < count; ++k) {
            const uint32_t lane = (k + count / 2) % count;
            if (threads[lane].state != State::fresh && threads[lane].state != State::ready) continue;
            moved = true;
            if (!go(begin + lane)) return false;
        }
    } while (resolve(threads, static_cast<int>(count)));
    return true;
}

// Opens the barrier when all threads are in it that have not left.
bool open_barrier() {
    Block &block = engine().block;
    int kind = -1, yes = 0, count = 0;
    for (uint32_t t = 0; t < block.size; ++t) {
        const Thread &thread = block.threads[t];
        if (thread.state == State::left) continue;
        if (thread.state != State::in_barrier || (kind >= 0 && thread.what != kind)) return false;
        kind = thread.what;
        ++count;
        yes += thread.predicate != 0;
    }
    if (kind < 0) return false;
    const int result = kind == QD_SIMT_BLOCK_AND ? yes == count : kind == QD_SIMT_BLOCK_OR ? yes != 0 : yes;
    for (uint32_t t = 0; t < block.size; ++t) {
        Thread &thread = block.threads[t];
        if (thread.state != State::in_barrier) continue;
        thread.predicate = result;
        thread.state = State::ready;
    }
    return true;
}

bool all_gone(const Block &block) {
    for (uint32_t t = 0; t < block.size; ++t)
        if (block.threads[t].state < State::ended) return false;
    return true;
}

void run_cooperative() {
    Engine &e = engine();
    Block &block = e.block;
    const uint32_t width = static_cast<uint32_t>(block.function->warp);
    const uint32_t warps = (block.size + width - 1) / width;
    for (uint32_t t = 0; t < block.size; ++t) block.threads[t].state = State::fresh;
    for (;;) {
        bool moved = false;
        for (uint32_t k = 0; k < warps; ++k) {
            const uint32_t begin = (k + warps / 2) % warps * width;
            if (!run_warp(begin, begin + width <= block.size ? width : block.size - begin, moved)) return;
        }
        if (open_barrier()) continue;
        if (all_gone(block)) return;
        if (moved) continue;
        e.trouble = standstill(block);
        return;
    }
}

void run_plain() {
    Engine &e = engine();
    const qd_simt_entry *entry = e.block.function->entry;
    // Not a local: those that change after setjmp are lost.
    qd_simt_index &thread = *entry->module->thread;
    thread.x = 0;
    if (_setjmp(e.next)) ++thread.x;
    for (; thread.x < e.block.size && e.trouble.empty(); ++thread.x) entry->call(e.params);
}

void give_back_stacks() {
    Engine &e = engine();
    for (Thread &thread : e.block.threads)
        if (thread.fiber.low) {
            e.stacks.push_back(thread.fiber);
            thread.fiber = Fiber{};
        }
}

// ---- one launch

void poison_memory(unsigned char *begin, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k) begin[k] = static_cast<unsigned char>(poison >> 8 * (k % 8));
}

std::string refused(const Function &f, uint32_t grid, uint32_t block, uint32_t shared_bytes) {
    const qd_simt_module *module = f.entry->module;
    if (grid == 0 || grid > 0x7fffffffu) return "a grid of " + std::to_string(grid) + " blocks; it should be 1 to 2147483647";
    if (block == 0 || block > most_threads)
        return "blocks of " + std::to_string(block) + " threads; they should have 1 to " + std::to_string(most_threads);
    // What the tasks of a text declare lies together, so that the part of each is known where there is one alone.
    const uint64_t declared = module->tasks == 1 ? static_cast<uint64_t>(module->shared_end - module->shared) : 0;
    const uint64_t total = shared_bytes + declared;
    if (total > static_cast<uint64_t>(shared_limit(f.warp)))
        return std::to_string(total) + " bytes of shared memory a block; the limit is " +
               std::to_string(shared_limit(f.warp));
    return "";
}

void run_grid(uint32_t grid, uint32_t shared_bytes) {
    Engine &e = engine();
    const Function &f = *e.block.function;
    const qd_simt_module *module = f.entry->module;
    *module->grid_dim = {grid, 1, 1};
    *module->block_dim = {e.block.size, 1, 1};
    *module->block = *module->thread = {0, 0, 0};
    for (uint32_t index = 0; index < grid && e.trouble.empty(); ++index) {
        e.block.index = module->block->x = index;
        poison_memory(module->shared, static_cast<size_t>(module->shared_end - module->shared));
        if (module->dynamic) poison_memory(module->dynamic, shared_bytes);
        f.cooperative ? run_cooperative() : run_plain();
    }
}

void write_output() {
    Engine &e = engine();
    if (e.capture) {
        e.captured += e.text;
    } else if (!e.text.empty()) {
        std::fwrite(e.text.data(), 1, e.text.size(), stdout);
        std::fflush(stdout);
    }
    e.text.clear();
}

}  // namespace

int64_t shared_limit(int warp) { return warp == 64 ? 64 << 10 : 227 << 10; }

int launch(void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *, void **params) {
    const Function &f = *static_cast<const Function *>(function);
    const std::string reason = refused(f, grid, block, shared_bytes);
    if (!reason.empty()) {
        last_error = "Kernel '" + f.name + "' cannot be launched with " + reason + ".";
        return bad_launch;
    }
    Engine &e = engine();
    std::lock_guard<std::mutex> guard(e.lock);
    e.params = params;
    e.trouble.clear();
    e.current = nullptr;
    e.block.function = &f;
    e.block.size = block;
    if (e.block.threads.size() < most_threads) e.block.threads.resize(most_threads);
    {
        // As devices do; not in the calling thread's own arithmetic.
        FlushDenormals flush;
        run_grid(grid, shared_bytes);
    }
    if (!e.trouble.empty()) give_back_stacks();
    write_output();
    last_error.clear();
    if (e.trouble.empty()) return success;
    last_error = "Kernel '" + f.name + "', block " + std::to_string(e.block.index) + " of " + std::to_string(grid) + ": " +
                 e.trouble + ".";
    return failed_launch;
}

const char *describe(int status) {
    if (status == success) return "no error";
    return last_error.empty() ? "the emulated launch failed" : last_error.c_str();
}

void capture(bool on) {
    Engine &e = engine();
    std::lock_guard<std::mutex> guard(e.lock);
    e.capture = on;
}

std::string take_output() {
    Engine &e = engine();
    std::lock_guard<std::mutex> guard(e.lock);
    return std::move(e.captured);
}

Function *make_function(uint64_t address, int warp, bool cooperative, const char *name) {
    const auto *entry = reinterpret_cast<const qd_simt_entry *>(address);
    last_error.clear();
    if (entry->module->abi != QD_SIMT_ABI) {
        last_error = std::string("Kernel '") + name + "' was compiled for another version of the emulator.";
        return nullptr;
    }
    static const int once = pthread_atfork(nullptr, nullptr, [] { new (&engine().lock) std::mutex; });
    (void)once;
    if (entry->module->api != &api) entry->module->api = &api;  // other threads may be running the module already
    return new Function{entry, warp, cooperative && entry->module->cooperative, name};
}

}  // namespace qd::simt
