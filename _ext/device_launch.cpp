#include "device_launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "launch.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace qd {

thread_local void *current_stream = nullptr;

namespace {

constexpr int deepest = 64;
constexpr int64_t gate_size = 16;  // of a gate in the frame: how many pass, how many rows are claimed

// Two's complement at any size, as kernels compute.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return wrapped(-static_cast<uint64_t>(a));
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t combine(Step op, int64_t a, int64_t b) {
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (op) {
        case Step::add: return wrapped(x + y);
        case Step::sub: return wrapped(x - y);
        case Step::mul: return wrapped(x * y);
        case Step::min: return std::min(a, b);
        case Step::max: return std::max(a, b);
        case Step::bit_and: return a & b;
        case Step::bit_or: return a | b;
        case Step::bit_xor: return a ^ b;
        case Step::mod: return mod(a, b);
        default: return floor_div(a, b);
    }
}

template <class T>
int64_t load(const char *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(value);
}

int64_t load(Step kind, const char *at) {
    switch (kind) {
        case Step::i8: return load<int8_t>(at);
        case Step::u8: return load<uint8_t>(at);
        case Step::i16: return load<int16_t>(at);
        case Step::u16: return load<uint16_t>(at);
        case Step::i32: return load<int32_t>(at);
        case Step::u32: return load<uint32_t>(at);
        default: return load<int64_t>(at);
    }
}

// A status that no driver has: the launch ends here, and the failure is noted already.
constexpr int stopped = INT32_MIN;

// Events around the tasks of one launch, for the kernel profiler. Of a task that runs several times it has the last one.
class Timer {
  public:
    Timer(const Device *api, size_t count, bool wanted) : api_(api), events_(wanted ? 2 * count : 0), ran_(count) {
        for (void *&event : events_) api_->event_create(&event, 1);
    }
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;
    ~Timer() {
        for (void *event : events_) api_->event_destroy(event);
    }

    void begin(size_t task, void *stream) {
        if (events_.empty()) return;
        if (first_ == none) first_ = task;
        ran_[task] = true;
        api_->event_record(events_[2 * task], stream);
    }

    void end(size_t task, void *stream) {
        if (events_.empty()) return;
        last_ = task;
        api_->event_record(events_[2 * task + 1], stream);
    }

    int read(double *times) {
        if (first_ == none) return 0;
        int status = api_->event_synchronize(events_[2 * last_ + 1]);
        for (size_t at = 0; status == 0 && at < events_.size(); ++at) {
            if (!ran_[at / 2]) continue;
            float since = 0;
            status = api_->event_milliseconds(&since, events_[2 * first_], events_[at]);
            times[at] = 1e-3 * since;
        }
        return status;
    }

  private:
    static constexpr size_t none = SIZE_MAX;
    const Device *api_;
    std::vector<void *> events_;
    std::vector<bool> ran_;
    size_t first_ = none;
    size_t last_ = 0;
};

// Collects what goes to C stdout, and so to descriptor 1, while it lives: drivers print there and nowhere else.
class Capture {
  public:
    explicit Capture(std::string *text) : text_(text) {
#ifndef _WIN32
        if (!text_) return;
        alone_.lock();
        std::fflush(stdout);
        file_ = std::tmpfile();
        saved_ = file_ ? dup(1) : -1;
        if (saved_ >= 0) dup2(fileno(file_), 1);
#endif
    }
    Capture(const Capture &) = delete;
    Capture &operator=(const Capture &) = delete;
    ~Capture() {
#ifndef _WIN32
        if (!text_) return;
        std::fflush(stdout);
        if (saved_ >= 0) {
            dup2(saved_, 1);
            close(saved_);
            std::rewind(file_);
            char part[4096];
            for (size_t count; (count = std::fread(part, 1, sizeof part, file_)) > 0;) text_->append(part, count);
        }
        if (file_) std::fclose(file_);
        alone_.unlock();
#endif
    }

  private:
    std::string *text_;
#ifndef _WIN32
    static std::mutex alone_;
    std::FILE *file_ = nullptr;
    int saved_ = -1;
#endif
};

#ifndef _WIN32
std::mutex Capture::alone_;
#endif

int64_t evaluate(const std::vector<CountStep> &program, const char *block) {
    int64_t stack[deepest];
    int at = 0;
    for (const CountStep &step : program) {
        if (step.op == Step::constant) {
            stack[at++] = step.value;
        } else if (step.op < Step::wrap) {
            stack[at++] = load(step.op, block + step.value);
        } else if (step.op == Step::wrap) {
            stack[at - 1] = static_cast<int32_t>(static_cast<uint64_t>(stack[at - 1]));
        } else {
            --at;
            stack[at - 1] = combine(step.op, stack[at - 1], stack[at]);
        }
    }
    return std::max<int64_t>(stack[0], 0);
}

uint32_t grid_of(const DeviceTask &task, const char *block) {
    int64_t most = task.most_blocks ? task.most_blocks : INT32_MAX;
    if (!task.counted) return static_cast<uint32_t>(most);
    int64_t wanted = (iterations(task, block) + task.block - 1) / task.block;
    return static_cast<uint32_t>(std::min(wanted, most));
}

// The tasks of one launch, as the walk over its regions asks for them.
class Tasks {
  public:
    Tasks(DeviceKernel *kernel, DeviceRun *launch, Timer *timer) : kernel_(kernel), launch_(launch), timer_(timer) {}

    int task(size_t at) {
        if (kernel_->tasks[at].counts) return 0;
        for (const DeviceSizing &sizing : kernel_->sizings) {
            if (at == sizing.begin) return launch_->known ? recall_depths(sizing) : find_depths(sizing);
            if (at > sizing.begin && at < sizing.end) return 0;
        }
        return start(at);
    }

    int start(size_t at) {
        const DeviceTask &task = kernel_->tasks[at];
        void *params[] = {kernel_->block_in_memory ? static_cast<void *>(&launch_->memory.block) : launch_->block,
                          &launch_->memory.frame};
        uint32_t grid = grid_of(task, launch_->block);
        int status = 0;
        timer_->begin(at, launch_->stream);
        if (grid && task.stacks.empty()) {
            status = queue(task, grid, params);
        } else if (grid) {
            Demand demand = demand_of(task, grid);
            if (task.gate_task >= 0) status = limit_rows(at, &demand);
            // Until the task is queued nobody else may make the heaps larger, and so move them.
            std::lock_guard<std::mutex> alone(launch_->heaps->gate);
            if (status == 0) status = bind_heaps(task, demand);
            if (status == 0 && !launch_->full) {
                status = queue(task, grid, params);
            }
        }
        timer_->end(at, launch_->stream);
        if (status) launch_->failed = static_cast<int>(at);
        return launch_->full ? stopped : status;
    }

    // Puts the depths that the arguments decide into the block.
    void compute_depths() {
        for (const DeviceDepth &depth : kernel_->depths) {
            int64_t value = evaluate(depth.count, launch_->block);
            std::memcpy(launch_->block + depth.offset, &value, sizeof value);
            tell_sizes(launch_->arch, launch_->name, launch_->block, depth.offset, 1, "arguments");
        }
    }

    bool local(size_t at) const { return kernel_->tasks[at].local; }

    int flag(const DeviceRegion &region, int32_t *value) {
        uint64_t address;
        std::memcpy(&address, launch_->block + region.flag_offset, sizeof address);
        return fetch(address, value, sizeof *value);
    }

    bool failed() {
        if (kernel_->error_offset < 0) return false;
        int32_t record = 0;
        int status = fetch(launch_->memory.frame + static_cast<uint64_t>(kernel_->error_offset), &record, sizeof record);
        return status != 0 || record != 0;
    }

    int next_pass(const DeviceRegion &region) {
        if (!region.random || kernel_->seed_offset < 0) return 0;
        size_t at = static_cast<size_t>(kernel_->seed_offset) + 8;
        uint64_t ordinal;
        std::memcpy(&ordinal, launch_->block + at, sizeof ordinal);
        ordinal += uint64_t(1) << 40;
        std::memcpy(launch_->block + at, &ordinal, sizeof ordinal);
        if (!kernel_->block_in_memory) return 0;
        return kernel_->api->to_device(launch_->memory.block + at, launch_->block + at, sizeof ordinal, launch_->stream);
    }

  private:
    // What a task needs of each heap.
    struct Demand {
        int64_t strides[heap_kinds];
        int64_t rows[heap_kinds];
        bool used[heap_kinds];
        const char *source;
    };

    int queue(const DeviceTask &task, uint32_t grid, void **params) {
        const Device &device = *kernel_->api;
        return kernel_->early
                   ? device.launch_early(task.function, grid, task.block, task.shared_bytes, launch_->stream, params)
                   : device.launch(task.function, grid, task.block, task.shared_bytes, launch_->stream, params);
    }

    // Threads without an iteration have no row.
    Demand demand_of(const DeviceTask &task, uint32_t grid) const {
        int64_t rows = int64_t(grid) * task.block;
        if (task.counted) rows = std::min(rows, iterations(task, launch_->block));
        Demand demand{{0, 0}, {rows, rows}, {false, false}, row_sources[0]};
        for (const DeviceStack &stack : task.stacks) {
            int64_t depth = stack.depth;
            if (depth < 0) std::memcpy(&depth, launch_->block + stack.depth_offset, sizeof depth);
            demand.strides[stack.kind] = sum_bytes(demand.strides[stack.kind], stack_bytes(depth, stack.slot));
            demand.used[stack.kind] = true;
        }
        return demand;
    }

    // Rows of real numbers for no more threads than get behind the condition, where that is worth counting them.
    int limit_rows(size_t at, Demand *demand) {
        const DeviceTask &task = kernel_->tasks[at];
        int status = !is_counted(at) && pays(task, *demand) ? count_passing(at) : 0;
        int64_t rows = demand->rows[0], passing = rows;
        if (is_counted(at)) {
            passing = passing_[at];
            passing_[at] = -1;  // a loop of the graph counts anew
        }
        demand->source = row_sources[1];
        if (passing < rows) {
            demand->source = row_sources[passing > 0 ? 2 : 3];
            rows = demand->rows[0] = std::max<int64_t>(passing, 1);
        }
        std::memcpy(launch_->block + task.gate_rows, &rows, sizeof rows);
        return status;
    }

    bool is_counted(size_t at) const { return at < passing_.size() && passing_[at] >= 0; }

    // A heap that is large enough for all already is worth no counting, unless that is asked for in any case.
    bool pays(const DeviceTask &task, const Demand &demand) {
        HeapUse all{launch_->arch, launch_->name, task.number, 0, demand.strides[0], demand.rows[0]};
        if (kernel_->gate_bytes > 0 && launch_->heaps->holds(launch_->stream, all)) return false;
        return all.required() >= std::max<int64_t>(kernel_->gate_bytes, 1);
    }

    // Of this task and of those after it whose depths are known too: one reading for all. No task of the kernel writes
    // what conditions read.
    int count_passing(size_t first) {
        size_t end = kernel_->tasks.size();
        for (const DeviceSizing &sizing : kernel_->sizings) {
            if (sizing.begin > first) end = std::min(end, sizing.begin);
        }
        std::vector<size_t> counted;
        for (size_t at = first; at < end; ++at) {
            const DeviceTask &task = kernel_->tasks[at];
            if (task.gate_task < 0) continue;
            uint32_t grid = grid_of(task, launch_->block);
            if (grid && pays(task, demand_of(task, grid))) counted.push_back(at);
        }
        const std::vector<DeviceTask> &tasks = kernel_->tasks;
        // Counts of later tasks are further on in the frame.
        const int64_t begin = tasks[counted.front()].gate_frame;
        const int64_t bytes = tasks[counted.back()].gate_frame + gate_size - begin;
        const uint64_t counts = launch_->memory.frame + static_cast<uint64_t>(begin);
        int status = kernel_->api->fill(counts, 0, static_cast<size_t>(bytes), launch_->stream);
        for (size_t at : counted) {
            if (status == 0) status = start(static_cast<size_t>(tasks[at].gate_task));
        }
        tell_counts(launch_->arch, launch_->name, counted.size());
        std::vector<char> read(static_cast<size_t>(bytes));
        if (status == 0) status = fetch(counts, read.data(), read.size());
        passing_.resize(tasks.size(), -1);
        for (size_t at : counted) passing_[at] = load<int64_t>(read.data() + tasks[at].gate_frame - begin);
        return status;
    }

    // Memory for the stacks of a task, by way of the block.
    int bind_heaps(const DeviceTask &task, const Demand &demand) {
        for (int kind = 0; kind < heap_kinds; ++kind) {
            if (!demand.used[kind]) continue;
            HeapUse use{launch_->arch,           launch_->name,     task.number,  kind,
                        demand.strides[kind], demand.rows[kind], demand.source};
            uint64_t address = 0;
            bool full = false;
            int status = launch_->heaps->reserve(launch_->stream, use, &address, &full);
            if (status) return status;
            if (full) {
                fail_without_memory(launch_->error, use, kernel_->heap_site);
                launch_->full = true;
                return 0;
            }
            std::memcpy(launch_->block + kernel_->heap_offsets[kind], &address, sizeof address);
        }
        if (!kernel_->block_in_memory) return 0;
        size_t begin = static_cast<size_t>(kernel_->stacks_begin), end = static_cast<size_t>(kernel_->stacks_end);
        return kernel_->api->to_device(launch_->memory.block + begin, launch_->block + begin, end - begin, launch_->stream);
    }

    // The depths of this launch that depend on memory of the device: tasks of their own find them, the host waits.
    int find_depths(const DeviceSizing &sizing) {
        int status = 0;
        for (size_t at = sizing.begin; status == 0 && at < sizing.end; ++at) status = start(at);
        if (status) return status;
        launch_->maxima += maxima_of(sizing);
        tell_maxima(launch_->arch, launch_->name, maxima_of(sizing), 0);
        uint64_t depths = launch_->memory.frame + static_cast<uint64_t>(sizing.frame_offset);
        status = fetch(depths, launch_->block + sizing.block_offset, 8 * static_cast<size_t>(sizing.count));
        tell_sizes(launch_->arch, launch_->name, launch_->block, sizing.block_offset, sizing.count, "tasks");
        return status;
    }

    int recall_depths(const DeviceSizing &sizing) {
        tell_sizes(launch_->arch, launch_->name, launch_->block, sizing.block_offset, sizing.count, "kept");
        tell_maxima(launch_->arch, launch_->name, maxima_of(sizing), maxima_of(sizing));
        return 0;
    }

    // All tasks but the last, which is serial.
    static int64_t maxima_of(const DeviceSizing &sizing) { return static_cast<int64_t>(sizing.end - sizing.begin) - 1; }

    // What the device has, by way of `landing`, which is as large as the largest that is asked for.
    int fetch(uint64_t address, void *value, size_t bytes) {
        char *landing = static_cast<char *>(launch_->memory.landing) + kernel_->prefix_bytes;
        int status = kernel_->api->to_host(landing, address, bytes, launch_->stream);
        std::memcpy(value, landing, bytes);
        return status;
    }

    DeviceKernel *kernel_;
    DeviceRun *launch_;
    Timer *timer_;
    std::vector<int64_t> passing_;  // by task, once they are counted; -1: they are not
};

}  // namespace

int64_t iterations(const DeviceTask &task, const char *block) {
    return evaluate(task.count, block);
}

size_t landing_bytes(const DeviceKernel &kernel) {
    int64_t most = 8;
    for (const DeviceSizing &sizing : kernel.sizings) most = std::max(most, 8 * sizing.count);
    int64_t begin = INT64_MAX, end = 0;
    for (const DeviceTask &task : kernel.tasks) {
        if (task.gate_task < 0) continue;
        begin = std::min(begin, task.gate_frame);
        end = std::max(end, task.gate_frame + gate_size);
    }
    most = std::max(most, end - begin);
    return kernel.prefix_bytes + static_cast<size_t>(most);
}

int Crossing::order(const Device *api, void *first, void *then) {
    std::lock_guard<std::mutex> alone(gate);
    int status = event ? 0 : api->event_create(&event, 0);
    if (status == 0) status = api->event_record(event, first);
    if (status == 0) status = api->event_wait(event, then);
    return status;
}

int run(DeviceKernel *kernel, DeviceRun *launch) {
    const Device *api = kernel->api;
    std::unique_lock<std::mutex> alone(kernel->gate, std::defer_lock);
    if (launch->memory.frame || launch->memory.landing) alone.lock();
    int status = 0;
    launch->failed = -1;
    launch->hit = launch->full = false;
    uint64_t frame = launch->memory.frame;
    if (kernel->block_in_memory) {
        status = api->to_device(launch->memory.block, launch->block, kernel->block_bytes, launch->stream);
    }
    for (int at = 0; status == 0 && at < launch->other_count; ++at) {
        status = launch->crossing->order(api, launch->others[at], launch->stream);
    }
    Capture capture(kernel->waits ? launch->text : nullptr);
    Timer timer(api, kernel->tasks.size(), kernel->timed);
    Tasks tasks(kernel, launch, &timer);
    RegionWalk<Tasks> walk(tasks, kernel->regions, kernel->tasks.size(), launch->status ? launch->status[0] : 0);
    tasks.compute_depths();
    if (status == 0) status = walk.run();
    // What tasks before it left in the failure record is of no interest any more, unless launches before it may have left it.
    if (status == stopped) {
        const uint64_t record = frame + static_cast<uint64_t>(kernel->error_offset);
        status = kernel->error_offset < 0 || kernel->polled ? 0 : api->fill(record, 0, 4, launch->stream);
        return status ? status : api->synchronize(launch->stream);
    }
    if (launch->status) launch->status[1] = walk.yielded();
    for (int at = 0; status == 0 && at < launch->other_count; ++at) {
        status = launch->crossing->order(api, launch->stream, launch->others[at]);
    }
    // A launch that has waited for depths anyway may as well say at once what went wrong.
    const bool reads = kernel->prefix_bytes && !(launch->polled && (kernel->sizings.empty() || launch->known));
    if (status == 0 && reads) {
        status = api->to_host(launch->memory.landing, frame, kernel->prefix_bytes, launch->stream);
        if (status == 0) std::memcpy(launch->prefix, launch->memory.landing, kernel->prefix_bytes);
    }
    if (status == 0 && reads && kernel->error_offset >= 0) {
        int32_t flag;
        std::memcpy(&flag, launch->prefix + kernel->error_offset, sizeof flag);
        launch->hit = flag != 0;
        if (flag) status = api->fill(frame + static_cast<uint64_t>(kernel->error_offset), 0, sizeof flag, launch->stream);
    }
    if (status == 0 && kernel->waits) {
        status = api->synchronize(launch->stream);
        std::fflush(stdout);
    }
    if (status == 0 && kernel->timed) status = timer.read(launch->times);
    return status;
}

}  // namespace qd
