#include "device_launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace qd {

thread_local void *current_stream = nullptr;

namespace {

// Events around the tasks of one launch, for the kernel profiler. Of a task that runs several times it has the last one.
class Timer {
  public:
    Timer(const qd_device_api *api, size_t count, bool wanted) : api_(api), events_(wanted ? 2 * count : 0), ran_(count) {
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
    const qd_device_api *api_;
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

uint32_t grid_of(const DeviceTask &task, const char *block) {
    int64_t most = task.most_blocks ? task.most_blocks : INT32_MAX;
    if (!task.counted) return static_cast<uint32_t>(most);
    int64_t wanted = (iterations(task, block) + task.block - 1) / task.block;
    return static_cast<uint32_t>(std::min(wanted, most));
}

// The tasks of one launch, as the walk over its regions asks for them.
class Tasks final : public TaskStarter {
  public:
    Tasks(DeviceKernel *kernel, DeviceRun *launch, Timer *timer)
        : TaskStarter(launch->stream, launch->block), kernel_(kernel), launch_(launch), timer_(timer) {
        start_ = kernel->early && kernel->api->launch_early ? kernel->api->launch_early : kernel->api->launch;
        if (kernel->adstack) adstack_.emplace(*kernel->adstack, launch->adstack, this);
    }

    int task(size_t at) { return adstack_ && adstack_->owns(at) ? adstack_->prepare(at) : start(at); }

    int start(size_t at) override {
        const uint32_t threads = grid(at);
        int status = 0;
        timer_->begin(at, stream);
        if (threads) status = adstack_ ? adstack_->queue(at, threads) : queue(at, threads);
        timer_->end(at, stream);
        if (status && status != stopped) launch_->failed = static_cast<int>(at);
        return status;
    }

    int queue(size_t at, uint32_t blocks) override {
        const DeviceTask &task = kernel_->tasks[at];
        void *params[] = {kernel_->block_in_memory ? static_cast<void *>(&launch_->memory.block) : block,
                          &launch_->memory.frame};
        return start_(task.function, blocks, task.block, task.shared_bytes, stream, params);
    }

    uint32_t grid(size_t at) const override { return grid_of(kernel_->tasks[at], block); }

    int64_t threads(size_t at, uint32_t blocks) const override {
        const DeviceTask &task = kernel_->tasks[at];
        const int64_t all = int64_t(blocks) * task.block;
        return task.counted ? std::min(all, iterations(task, block)) : all;
    }

    // By way of `landing`, which is as large as the most that is asked for.
    int fetch(int64_t frame_offset, void *value, size_t bytes) override {
        return copy(in_frame(frame_offset), value, bytes);
    }

    int clear(int64_t frame_offset, size_t bytes) override {
        return kernel_->api->fill(in_frame(frame_offset), 0, bytes, stream);
    }

    int renew(int64_t begin, int64_t end) override {
        if (!kernel_->block_in_memory) return 0;
        const uint64_t there = launch_->memory.block + static_cast<uint64_t>(begin);
        return kernel_->api->to_device(there, block + begin, static_cast<size_t>(end - begin), stream);
    }

    // Whether the host has waited for tasks in between.
    bool waited() const { return adstack_ && adstack_->waits(); }

    bool local(size_t at) const { return kernel_->tasks[at].local; }

    int flag(const DeviceRegion &region, int32_t *value) {
        uint64_t address;
        std::memcpy(&address, block + region.flag_offset, sizeof address);
        return copy(address, value, sizeof *value);
    }

    bool failed() {
        if (kernel_->error_offset < 0) return false;
        int32_t record = 0;
        int status = fetch(kernel_->error_offset, &record, sizeof record);
        return status != 0 || record != 0;
    }

    int next_pass(const DeviceRegion &region) {
        if (!region.random || kernel_->seed_offset < 0) return 0;
        size_t at = static_cast<size_t>(kernel_->seed_offset) + 8;
        uint64_t ordinal;
        std::memcpy(&ordinal, block + at, sizeof ordinal);
        ordinal += uint64_t(1) << 40;
        std::memcpy(block + at, &ordinal, sizeof ordinal);
        if (!kernel_->block_in_memory) return 0;
        return kernel_->api->to_device(launch_->memory.block + at, block + at, sizeof ordinal, stream);
    }

  private:
    uint64_t in_frame(int64_t offset) const { return launch_->memory.frame + static_cast<uint64_t>(offset); }

    int copy(uint64_t address, void *value, size_t bytes) {
        char *landing = static_cast<char *>(launch_->memory.landing) + kernel_->prefix_bytes;
        int status = kernel_->api->to_host(landing, address, bytes, stream);
        std::memcpy(value, landing, bytes);
        return status;
    }

    DeviceKernel *kernel_;
    DeviceRun *launch_;
    Timer *timer_;
    decltype(qd_device_api::launch) start_;
    std::optional<AdstackLaunch> adstack_;
};

}  // namespace

int64_t iterations(const DeviceTask &task, const char *block) {
    return evaluate(task.count, block);
}

size_t landing_bytes(const DeviceKernel &kernel) {
    const size_t most = kernel.adstack ? kernel.adstack->landing_bytes() : 0;
    return kernel.prefix_bytes + std::max<size_t>(most, 8);
}

int Crossing::order(const qd_device_api *api, void *first, void *then) {
    std::lock_guard<std::mutex> alone(gate);
    int status = event ? 0 : api->event_create(&event, 0);
    if (status == 0) status = api->event_record(event, first);
    if (status == 0) status = api->event_wait(event, then);
    return status;
}

int run(DeviceKernel *kernel, DeviceRun *launch) {
    const qd_device_api *api = kernel->api;
    std::unique_lock<std::mutex> alone(kernel->gate, std::defer_lock);
    if (launch->memory.frame || launch->memory.landing) alone.lock();
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
    Capture capture(kernel->waits ? launch->text : nullptr);
    Timer timer(api, kernel->tasks.size(), kernel->timed);
    Tasks tasks(kernel, launch, &timer);
    RegionWalk<Tasks> walk(tasks, kernel->regions, kernel->tasks.size(), launch->status ? launch->status[0] : 0);
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
    // A launch that has waited anyway may as well say at once what went wrong.
    const bool reads = kernel->prefix_bytes && (!launch->polled || tasks.waited());
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
