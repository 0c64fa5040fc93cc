// Devices, queues, command buffers and encoders. Host and device see the same memory at two addresses, and the device only
// while a task runs that was told of it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <set>

#include "objects.hpp"

namespace standin {

using Launch = int (*)(void *, uint32_t, uint32_t, uint32_t, void *, void **);
using Describe = const char *(*)(int);

// What tests want.
struct Settings {
    Launch launch = nullptr;
    Describe describe = nullptr;
    bool eager = false;
    uint64_t most_threads = 1024;
    uint64_t most_bytes = uint64_t(1) << 32;
    std::map<std::string, int> refusals;  // what gives null, and how often
    int64_t failure = 0;                  // code of the next command buffer's
    int failing_after = 0;
};

extern Settings settings;

// Whether this is to be null now.
bool refused(const char *what);

// A reference that a Metal object has to another one.
template <class T>
class Held {
  public:
    Held() = default;
    explicit Held(T *object) : object_(object) {
        if (object) retain(object);
    }
    Held(const Held &other) : Held(other.object_) {}
    Held &operator=(Held other) {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Held() {
        if (object_) release(object_);
    }
    T *operator->() const { return object_; }
    T *get() const { return object_; }

  private:
    T *object_ = nullptr;
};

struct Device : Object {
    uint64_t used = 0;
    Device() : Object("MTLDevice") {}
};

struct Buffer : Object {
    Device *device;
    size_t bytes;
    char *host = nullptr;
    char *address = nullptr;  // the same memory, as the device sees it

    Buffer(Device *device, size_t wanted) : Object("MTLBuffer"), device(device), bytes((wanted + 4095) / 4096 * 4096) {
        const int file = memfd_create("standin", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return;
        host = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        address = static_cast<char *>(mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0));
        close(file);
        device->used += bytes;
    }
    void dispose() override {
        munmap(host, bytes);
        munmap(address, bytes);
        device->used -= bytes;
    }
    void show(bool on) const { mprotect(address, bytes, on ? PROT_READ | PROT_WRITE : PROT_NONE); }
};

struct Event : Object {
    uint64_t value = 0;
    Event() : Object("MTLSharedEvent") {}
};

struct Library : Object {
    std::map<std::string, void *> tasks;
    Library() : Object("MTLLibrary") {}
};

struct Function : Object {
    std::string name;
    void *task;
    Function(std::string name, void *task) : Object("MTLFunction"), name(std::move(name)), task(task) {}
};

struct Pipeline : Object {
    std::string name;
    void *task;
    uint64_t most_threads = settings.most_threads;
    Pipeline(std::string name, void *task) : Object("MTLComputePipelineState"), name(std::move(name)), task(task) {}
};

struct Queue;

enum State : uint64_t { fresh, enqueued, committed, scheduled, completed, failed };

// What a command buffer does next: false while it has to wait.
using Step = std::function<bool()>;

struct Commands : Object {
    Held<Queue> queue;
    uint64_t state = fresh;
    bool encoding = false;
    std::deque<Step> steps;
    Error *error = nullptr;
    double began = 0, ended = 0;
    int dispatches = 0;

    explicit Commands(Queue *queue) : Object("MTLCommandBuffer"), queue(queue) {}
    void dispose() override {
        if (state == fresh) complain(label + " was never committed");
        steps.clear();
        if (error) release(error);
        queue = Held<Queue>();
    }
    void fail(int64_t code, const std::string &text) {
        state = failed;
        steps.clear();
        error = new Error(code, text);
    }
};

std::vector<Queue *> &queues();

struct Queue : Object {
    Held<Device> device;
    std::deque<Held<Commands>> waiting;
    explicit Queue(Device *device) : Object("MTLCommandQueue"), device(device) { queues().push_back(this); }
    void dispose() override {
        device = Held<Device>();
        queues().erase(std::find(queues().begin(), queues().end(), this));
    }
};

struct Encoder : Object {
    Held<Commands> commands;
    bool ended = false;
    Encoder(const char *kind, Commands *commands) : Object(kind), commands(commands) {
        if (commands->encoding) complain(label + " begins while another encoder of " + commands->label + " is open");
        if (commands->state != fresh) complain(label + " is of " + commands->label + ", which was committed");
        commands->encoding = true;
    }
    void dispose() override {
        if (!ended) complain(label + " was not ended");
        commands = Held<Commands>();
    }
};

struct ComputeEncoder : Encoder {
    std::set<Buffer *> used;
    Pipeline *pipeline = nullptr;
    std::string bytes;
    Buffer *bound[2] = {nullptr, nullptr};
    uint64_t offsets[2] = {0, 0};
    uint64_t shared = 0;
    bool barrier = true;
    explicit ComputeEncoder(Commands *commands) : Encoder("MTLComputeCommandEncoder", commands) {}
};

struct CopyEncoder : Encoder {
    explicit CopyEncoder(Commands *commands) : Encoder("MTLBlitCommandEncoder", commands) {}
};

// Does what can be done now. True if there was anything.
bool advance(Queue *queue);
bool advance_all();
// Does all that a command buffer waits for, and what is in it.
void complete(Commands *commands);

Queue *new_queue(Device *self, const Name *);  // metal.cpp

}  // namespace standin
