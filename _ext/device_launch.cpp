#include "device_launch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace qd {

thread_local void *current_stream = nullptr;

namespace {

// Events around the tasks of one launch, for the kernel profiler. Of a task that runs several times it has the last one.
class Timer {
  public:
    Timer(const Device *api, size_t count, bool wanted) : api_(api), events_(wanted ? 2 * count : 0), ran_(wanted ? count : 0) {
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

    // Seconds of the host's clock: events tell only the times within this launch, and the last of them is over just now.
    int read(double *times) {
        if (first_ == none) return 0;
        void *const first = events_[2 * first_], *const last = events_[2 * last_ + 1];
        int status = api_->event_synchronize(last);
        const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        float whole = 0;
        if (status == 0) status = api_->event_milliseconds(&whole, first, last);
        for (size_t at = 0; status == 0 && at < events_.size(); ++at) {
            if (!ran_[at / 2]) continue;
            float since = 0;
            status = api_->event_milliseconds(&since, first, events_[at]);
            times[at] = now + 1e-3 * (static_cast<double>(since) - whole);
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

TaskExtent extent_of(const DeviceTask &task, const char *block) {
    const int64_t most = task.most_blocks ? task.most_blocks : INT32_MAX;
    if (!task.counted) return {static_cast<uint32_t>(most), most * task.block};
    const int64_t count = iterations(task, block);
    const int64_t blocks = std::min((count + task.block - 1) / task.block, most);
    return {static_cast<uint32_t>(blocks), std::min(blocks * task.block, count)};
}

// Tasks of passes that are launched before the flag of their loop is read.
constexpr size_t most_ahead = 32;

// The tasks of one launch, as the walk over its regions asks for them.
class Tasks {
  public:
    Tasks(DeviceKernel *kernel, DeviceRun *launch, Timer *timer) : kernel_(kernel), launch_(launch), timer_(timer) {}

    int task(size_t at) {
        return timed(at, [this, at](const TaskExtent &extent) { return start_blocks(at, extent.blocks); });
    }

    // Whether the host has waited for tasks in between.
    static constexpr bool waited() { return false; }

    bool local(size_t at) const { return kernel_->tasks[at].local; }

    int flag(const DeviceRegion &region, int32_t *value) { return copy(flag_of(region), value, sizeof *value); }

    int first_pass(const DeviceRegion &region) {
        if (region.again_offset < 0) return 0;
        return kernel_->api->fill(in_frame(region.again_offset), 1, sizeof(int32_t), launch_->stream);
    }

    // Where the host has nothing to do before each pass. Tasks that fail are seen by those behind them.
    int32_t passes_ahead(const DeviceRegion &region) const {
        const bool seen = region.random || kernel_->timed || kernel_->adstack;
        return region.again_offset < 0 || seen ? 1 : static_cast<int32_t>(most_ahead / (region.end - region.begin));
    }

    int late_pass(const DeviceRegion &region) {
        return kernel_->api->on_device(in_frame(region.again_offset), flag_of(region), sizeof(int32_t), launch_->stream);
    }

    bool failed() {
        if (kernel_->error_offset < 0) return false;
        int32_t record = 0;
        int status = copy(in_frame(kernel_->error_offset), &record, sizeof record);
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

  protected:
    // queue: starts a task that has any blocks.
    template <class Queue>
    int timed(size_t at, Queue queue) {
        const TaskExtent extent = extent_of(kernel_->tasks[at], launch_->block);
        timer_->begin(at, launch_->stream);
        const int status = extent.blocks ? queue(extent) : 0;
        timer_->end(at, launch_->stream);
        if (status && status != stopped) launch_->failed = static_cast<int>(at);
        return status;
    }

    int start_blocks(size_t at, uint32_t blocks) {
        const DeviceTask &task = kernel_->tasks[at];
        void *params[] = {kernel_->block_in_memory ? static_cast<void *>(&launch_->memory.block) : launch_->block,
                          &launch_->memory.frame};
        const Device &device = *kernel_->api;
        return kernel_->early
                   ? device.launch_early(task.function, blocks, task.block, task.shared_bytes, launch_->stream, params)
                   : device.launch(task.function, blocks, task.block, task.shared_bytes, launch_->stream, params);
    }

    uint64_t flag_of(const DeviceRegion &region) const {
        uint64_t address;
        std::memcpy(&address, launch_->block + region.flag_offset, sizeof address);
        return address;
    }

    uint64_t in_frame(int64_t offset) const { return launch_->memory.frame + static_cast<uint64_t>(offset); }

    // What the device has, by way of `landing`, which is as large as the most that is asked for.
    int copy(uint64_t address, void *value, size_t bytes) {
        char *landing = static_cast<char *>(launch_->memory.landing) + kernel_->prefix_bytes;
        int status = kernel_->api->to_host(landing, address, bytes, launch_->stream);
        std::memcpy(value, landing, bytes);
        return status;
    }

    DeviceKernel *kernel_;
    DeviceRun *launch_;

  private:
    Timer *timer_;
};

// Those of a kernel that has stacks.
class StackedTasks final : public Tasks, public TaskStarter {
  public:
    StackedTasks(DeviceKernel *kernel, DeviceRun *launch, Timer *timer)
        : Tasks(kernel, launch, timer), TaskStarter(launch->stream, launch->block),
          adstack_(*kernel->adstack, launch->adstack, this) {}

    int task(size_t at) { return adstack_.owns(at) ? adstack_.prepare(at) : start(at); }

    bool waited() const { return adstack_.waits(); }

    int start(size_t at) override {
        return timed(at, [this, at](const TaskExtent &extent) {
            return adstack_.serves(at) ? adstack_.queue(at, extent) : start_blocks(at, extent.blocks);
        });
    }

    int queue(size_t at, uint32_t blocks, int64_t begin, int64_t end) override {
        int status = 0;
        if (kernel_->block_in_memory) {
            const uint64_t there = launch_->memory.block + static_cast<uint64_t>(begin);
            status = kernel_->api->to_device(there, block + begin, static_cast<size_t>(end - begin), stream);
        }
        return status ? status : start_blocks(at, blocks);
    }

    TaskExtent extent(size_t at) const override { return extent_of(kernel_->tasks[at], block); }

    int fetch(int64_t frame_offset, void *value, size_t bytes) override {
        return copy(in_frame(frame_offset), value, bytes);
    }

    int clear(int64_t frame_offset, size_t bytes) override {
        return kernel_->api->fill(in_frame(frame_offset), 0, bytes, stream);
    }

  private:
    AdstackLaunch adstack_;
};

// Status of the driver, or `stopped`. waited: whether the host has waited for tasks.
template <class Host>
int walk(DeviceKernel *kernel, DeviceRun *launch, Timer *timer, bool *waited) {
    Host tasks(kernel, launch, timer);
    RegionWalk<Host> found(tasks, kernel->regions, kernel->tasks.size(), launch->status ? launch->status[0] : 0);
    const int status = found.run();
    if (launch->status) launch->status[1] = found.yielded();
    *waited = tasks.waited();
    return status;
}

// All tasks as one graph. done: whether it was.
int start_graph(DeviceKernel *kernel, const DeviceRun &launch, bool *done) {
    int32_t recorded = 0;
    int status = 0;
    // A graph with loops cannot become a part of another one.
    if (launch.stream && kernel->api->records_streams()) status = kernel->api->is_capturing(&recorded, launch.stream);
    return status || recorded ? status : kernel->graphs.start(*kernel, launch, done);
}

// What was printed in memory, also by a launch that failed.
int print_lines(const DeviceKernel &kernel, const DeviceRun &launch) {
    std::string lines;
    const int status = kernel.ring->take(kernel.lines, launch.name, launch.stream, launch.text ? launch.text : &lines);
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    return status;
}

}  // namespace

int64_t iterations(const DeviceTask &task, const char *block) {
    return evaluate(task.count, block);
}

uint32_t blocks_of(const DeviceTask &task, const char *block) { return extent_of(task, block).blocks; }

size_t landing_bytes(const DeviceKernel &kernel) {
    const size_t most = kernel.adstack ? kernel.adstack->landing_bytes() : 0;
    return kernel.prefix_bytes + std::max<size_t>(most, 8);
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
    if (launch->memory.frame || launch->memory.landing || kernel->graphs.wanted()) alone.lock();
    int status = 0;
    launch->failed = -1;
    launch->hit = false;
    uint64_t frame = launch->memory.frame;
    if (kernel->block_in_memory) {
        status = api->to_device(launch->memory.block, launch->block, kernel->block_bytes, launch->stream);
    }
    for (int at = 0; status == 0 && at < launch->other_count; ++at) {
        status = launch->crossing->order(api, launch->others[at], launch->stream);
    }
    std::unique_lock<std::mutex> printing;
    if (kernel->ring) printing = std::unique_lock<std::mutex>(kernel->ring->gate);
    Capture capture(kernel->waits && !kernel->ring ? launch->text : nullptr);
    Timer timer(api, kernel->tasks.size(), kernel->timed);
    bool waited = false;
    const auto walk_tasks = kernel->adstack ? walk<StackedTasks> : walk<Tasks>;
    bool started = false;
    if (status == 0 && kernel->graphs.wanted()) status = start_graph(kernel, *launch, &started);
    if (!started) count_launch_without_graph();
    if (status == 0 && !started) status = walk_tasks(kernel, launch, &timer, &waited);
    // What tasks before it left in the failure record is of no interest any more, unless launches before it may have left it.
    if (status == stopped) {
        const uint64_t record = frame + static_cast<uint64_t>(kernel->error_offset);
        status = kernel->error_offset < 0 || kernel->polled ? 0 : api->fill(record, 0, 4, launch->stream);
        return status ? status : api->synchronize(launch->stream);
    }
    for (int at = 0; status == 0 && at < launch->other_count; ++at) {
        status = launch->crossing->order(api, launch->stream, launch->others[at]);
    }
    // A launch that has waited anyway may as well say at once what went wrong.
    const bool reads = kernel->prefix_bytes && (!launch->polled || waited);
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
        if (status == 0 && kernel->ring) status = print_lines(*kernel, *launch);
        std::fflush(stdout);
    }
    if (status == 0) status = api->submit(launch->stream);
    if (status == 0 && kernel->timed) status = timer.read(launch->times);
    return status;
}

}  // namespace qd
