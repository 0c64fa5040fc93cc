// The work of the device, done by whoever waits for it, as late as possible, unless a test wants it as early as possible.
#include "gpu.hpp"

#include <chrono>

namespace standin {

Settings settings;

bool refused(const char *what) {
    int &left = settings.refusals[what];
    if (left <= 0) return false;
    --left;
    return true;
}

std::vector<Queue *> &queues() {
    static auto *all = new std::vector<Queue *>;
    return *all;
}

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool advance(Queue *queue) {
    bool any = false;
    while (!queue->waiting.empty()) {
        const Held<Commands> head = queue->waiting.front();
        if (head->state == committed) {
            head->state = scheduled;
            head->began = now();
            note("run " + head->label);
            if (settings.failure && settings.failing_after-- == 0) {
                head->fail(settings.failure, "Caused GPU Hang Error (standin)");
                settings.failure = 0;
            }
        }
        while (!head->steps.empty()) {
            const Step step = std::move(head->steps.front());
            head->steps.pop_front();
            if (step()) {
                any = true;
            } else {
                head->steps.push_front(step);
                return any;
            }
        }
        if (head->state != failed) head->state = completed;
        head->ended = now();
        any = true;
        queue->waiting.pop_front();
    }
    return any;
}

bool advance_all() {
    bool any = false;
    const std::vector<Queue *> all = queues();
    for (Queue *queue : all) any = advance(queue) || any;
    return any;
}

void complete(Commands *commands) {
    while (commands->state < completed) {
        if (advance(commands->queue.get()) || advance_all()) continue;
        complain(commands->label + " waits for an event that nobody signals");
        commands->fail(2, "waits for ever");
    }
}

extern "C" {

// A new reference, as Metal gives.
Object *MTLCreateSystemDefaultDevice() {
    static auto *only = new Device;
    retain(only);
    return only;
}

Object *standin_library(uint64_t count, const char *const *names, void *const *tasks) {
    auto *made = new Library;
    for (uint64_t at = 0; at < count; ++at) made->tasks[names[at]] = tasks[at];
    return made;
}

Object *standin_queue(Object *device) { return new_queue(static_cast<Device *>(device), nullptr); }
Object *standin_other_device() { return new Device; }

void standin_runs_tasks(Launch launch, Describe describe) {
    settings.launch = launch;
    settings.describe = describe;
}

void standin_eager(int on) { settings.eager = on != 0; }
void standin_most_threads(uint64_t most) { settings.most_threads = most; }
void standin_most_bytes(uint64_t most) { settings.most_bytes = most; }
void standin_refuse(const char *what, int times) { settings.refusals[what] = times; }
void standin_fail(int64_t code, int after) {
    settings.failure = code;
    settings.failing_after = after;
}

}  // extern "C"
}  // namespace standin
