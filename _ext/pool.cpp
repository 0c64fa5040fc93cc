#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

#include "fpmode.hpp"

namespace qd {
namespace {

// More chunks than threads let fast threads take over from slow ones; many more would cost more than they even out.
constexpr int64_t chunks_per_thread = 8;

// A worker without work, and a caller whose last chunks run elsewhere, watch memory this long before they sleep.
constexpr auto spin_time = std::chrono::microseconds(20);

// Set while this thread runs iterations of a task, so that a nested task runs inline.
thread_local bool inside_task = false;

// The part of the iterations that one thread begins with. It is the same part at every launch of the same size, so that
// the data of a thread stays in the caches of its core; a thread that is done takes chunks from the parts of others.
struct alignas(64) Part {
    std::atomic<int64_t> next;
    int64_t end;
};

constexpr int32_t max_parts = 64;

struct Job {
    qd_runtime *rt;
    qd_task_fn fn;
    void *frame;
    int64_t n;
    int64_t chunk;
    int32_t limit;
    int32_t parts = 1;
    Job *link = nullptr;
    Part part[max_parts];
    alignas(64) std::atomic<int32_t> joined{1};
    std::atomic<int32_t> active{0};
    std::atomic<bool> taken{false};  // every chunk is done or at work

    void divide() {
        parts = std::min(limit, max_parts);
        int64_t chunks = n / chunk + (n % chunk != 0);
        auto bound = [&](int64_t k) { return std::min(n, (chunks / parts * k + std::min(k, chunks % parts)) * chunk); };
        for (int32_t k = 0; k < parts; ++k) {
            part[k].next.store(bound(k), std::memory_order_relaxed);
            part[k].end = bound(k + 1);
        }
    }

    bool wants_workers() const {
        return !taken.load(std::memory_order_relaxed) && joined.load(std::memory_order_relaxed) < limit;
    }

    bool finished() const { return active.load(std::memory_order_acquire) == 0; }

    // `home` is the number of the thread, `worker` that of its turn to join.
    void work(int32_t worker, int32_t home) {
        inside_task = true;
        for (int32_t k = 0; k < parts; ++k) {
            Part &mine = part[(home + k) % parts];
            while (mine.next.load(std::memory_order_relaxed) < mine.end) {
                int64_t begin = mine.next.fetch_add(chunk, std::memory_order_relaxed);
                if (begin >= mine.end) break;
                fn(rt, frame, worker, begin, std::min(mine.end, begin + chunk));
            }
        }
        taken.store(true, std::memory_order_relaxed);
        inside_task = false;
    }
};

template <class Condition>
bool spin_until(Condition condition) {
    auto end = std::chrono::steady_clock::now() + spin_time;
    do {
        for (int i = 0; i < 64; ++i) {
            if (condition()) return true;
            pause_briefly();
        }
    } while (std::chrono::steady_clock::now() < end);
    return condition();
}

int32_t hardware_threads() { return static_cast<int32_t>(std::max(1u, std::thread::hardware_concurrency())); }

// Signals sent to the process are for the threads of Python. Faults stay open: they belong to the thread at fault.
void leave_signals_to_others() {
#ifndef _WIN32
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
#endif
}

class Pool {
  public:
    explicit Pool(int32_t size) : size_(size) {}

    int32_t size() const { return size_.load(std::memory_order_relaxed); }

    int32_t started() {
        std::lock_guard<std::mutex> lock(mutex_);
        return static_cast<int32_t>(workers_.size());
    }

    void resize(int32_t size) {
        if (size == this->size()) return;
        std::lock_guard<std::mutex> stopping(stop_mutex_);
        stop();
        size_.store(size, std::memory_order_relaxed);
    }

    void stop(bool only_if_idle) {
        std::lock_guard<std::mutex> stopping(stop_mutex_);
        if (only_if_idle) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (jobs_) return;
        }
        stop();
    }

    void run(Job &job) {
        int32_t wake;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            start_missing_workers();
            job.link = jobs_;
            jobs_ = &job;
            epoch_.fetch_add(1, std::memory_order_release);
            wake = std::min(job.limit - 1 - spinning_, sleeping_);
        }
        while (wake-- > 0) idle_.notify_one();
        job.work(0, 0);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            unlink(job);
        }
        if (spin_until([&] { return job.finished(); })) return;
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return job.finished(); });
    }

  private:
    void start_missing_workers() {
        if (stopping_) return;
        while (static_cast<int32_t>(workers_.size()) < size() - 1) {
            try {
                auto number = static_cast<int32_t>(workers_.size()) + 1;
                workers_.emplace_back([this, number] { loop(number); });
            } catch (const std::system_error &) {
                return;  // The machine gives no more threads: those that exist share the work.
            }
        }
    }

    void stop() {
        std::vector<std::thread> ending;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopping_ = true;
            epoch_.fetch_add(1, std::memory_order_release);
            ending.swap(workers_);
        }
        idle_.notify_all();
        for (std::thread &worker : ending) worker.join();
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = false;
    }

    void unlink(Job &job) {
        Job **at = &jobs_;
        while (*at != &job) at = &(*at)->link;
        *at = job.link;
    }

    Job *find_work() {
        for (Job *job = jobs_; job; job = job->link) {
            if (job->wants_workers()) return job;
        }
        return nullptr;
    }

    void loop(int32_t number) {
        leave_signals_to_others();
        flush_denormals();
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopping_) {
            if (Job *job = find_work()) {
                int32_t worker = job->joined.fetch_add(1, std::memory_order_relaxed);
                job->active.fetch_add(1, std::memory_order_relaxed);
                lock.unlock();
                job->work(worker, number);
                // Once `active` is 0 the job may be gone: only the pool is touched after that.
                bool last = job->active.fetch_sub(1, std::memory_order_acq_rel) == 1;
                lock.lock();
                if (last) done_.notify_all();
            } else {
                wait_for_work(lock);
            }
        }
    }

    void wait_for_work(std::unique_lock<std::mutex> &lock) {
        uint64_t seen = epoch_.load(std::memory_order_acquire);
        auto news = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
        ++spinning_;
        lock.unlock();
        spin_until(news);
        lock.lock();
        --spinning_;
        ++sleeping_;
        idle_.wait(lock, news);
        --sleeping_;
    }

    std::atomic<int32_t> size_;
    std::mutex mutex_;       // guards what follows
    std::mutex stop_mutex_;  // taken first; one stop at a time
    std::condition_variable idle_;
    std::condition_variable done_;
    std::vector<std::thread> workers_;
    std::atomic<uint64_t> epoch_{0};  // changes with every job and every stop
    Job *jobs_ = nullptr;
    int32_t spinning_ = 0;
    int32_t sleeping_ = 0;
    bool stopping_ = false;
};

// Never destroyed: a daemon thread may still be inside a kernel when the process ends.
Pool *pool = new Pool(hardware_threads());

#ifndef _WIN32
void renew_after_fork() {
    // The child has none of the workers, and a lock may be held by a thread that does not exist here.
    pool = new Pool(pool->size());
    inside_task = false;
}

[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, renew_after_fork);
#endif

}  // namespace

void set_threads(int32_t count) { pool->resize(count); }
int32_t threads() { return pool->size(); }
int32_t started_workers() { return pool->started(); }
void stop_workers() { pool->stop(false); }
void stop_idle_workers() { pool->stop(true); }

}  // namespace qd

extern "C" void qd_parallel(qd_runtime *rt, qd_task_fn fn, void *frame, int64_t n, int64_t grain, int32_t max_threads) {
    using namespace qd;
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    int64_t limit = max_threads > 0 ? std::min(max_threads, rt->threads) : rt->threads;
    if (n <= grain || limit <= 1 || inside_task) {
        fn(rt, frame, 0, 0, n);
        return;
    }
    int64_t parts = limit * chunks_per_thread;
    int64_t chunk = std::max(grain, n / parts + (n % parts != 0));
    int64_t chunks = n / chunk + (n % chunk != 0);
    Job job{rt, fn, frame, n, chunk, static_cast<int32_t>(std::min(limit, chunks))};
    job.divide();
    pool->run(job);
}
