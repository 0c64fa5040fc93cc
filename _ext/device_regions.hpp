// The order of the tasks of one launch, where loops and checkpoints are around them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qd {

enum class RegionKind : int32_t { loop, checkpoint, branch, other };

// Tasks `begin` to `end`. Branches that are neighbours have no order among them; `other` has none of its own. Outer
// regions come before inner ones; `parent` is the index of the one around, -1 for none.
struct DeviceRegion {
    RegionKind kind;
    int32_t parent;
    size_t begin, end;
    int64_t flag_offset;  // where the argument block has the address of the flag
    bool random;          // its tasks draw random numbers: other ones in each pass
    int64_t ended_offset;  // where the frame tells its tasks that they have nothing to do; -1: they do not look
    int64_t again_offset;  // the other way round: 0 there tells them so
};

// Host: `int task(size_t)` launches one, `int flag(const DeviceRegion &, int32_t *)` waits and reads a flag, both give a
// status; `int next_pass(const DeviceRegion &)` comes before a loop repeats; `bool local(size_t)` tells tasks that only
// set variables; `bool failed()` is asked where a loop would repeat: tasks that failed do not change the flag.
// `int first_pass(const DeviceRegion &)` comes before a loop; `int32_t passes_ahead(const DeviceRegion &)`: how many
// passes may be launched before their flag is read, with `int late_pass(const DeviceRegion &)` before each but the first,
// which has it do nothing once the loop has ended.
template <class Host>
class RegionWalk {
  public:
    // first: number of the checkpoint to begin at, from 1; 0: the first task.
    RegionWalk(Host &host, const std::vector<DeviceRegion> &regions, size_t tasks, int32_t first)
        : host_(host), regions_(regions), tasks_(tasks), first_(first) {}

    int run() { return inside(-1, 0, tasks_); }

    // Number of the checkpoint that ended the launch, 0: none.
    int32_t yielded() const { return yielded_; }

  private:
    int inside(int32_t parent, size_t at, size_t end) {
        int status = 0;
        for (size_t k = static_cast<size_t>(parent + 1); status == 0 && !ended_ && k < regions_.size(); ++k) {
            if (regions_[k].parent != parent) continue;
            status = launch(at, regions_[k].begin);
            if (status == 0) status = enter(k);
            at = regions_[k].end;
        }
        return status == 0 && !ended_ ? launch(at, end) : status;
    }

    int launch(size_t at, size_t end) {
        int status = 0;
        for (; status == 0 && at < end; ++at) {
            if (first_ == 0 || host_.local(at)) status = host_.task(at);
        }
        return status;
    }

    int enter(size_t k) {
        const DeviceRegion &region = regions_[k];
        int32_t parent = static_cast<int32_t>(k), value = 0;
        if (region.kind == RegionKind::checkpoint) {
            int32_t number = number_of(k);
            if (number == first_) first_ = 0;
            int status = inside(parent, region.begin, region.end);
            if (status || ended_ || first_ != 0) return status;
            status = host_.flag(region, &value);
            if (status == 0 && value != 0) {
                yielded_ = number;
                ended_ = true;
            }
            return status;
        }
        return region.kind == RegionKind::loop ? repeat(region, parent) : inside(parent, region.begin, region.end);
    }

    // More passes at once from time to time, so that those in vain are no more than the others.
    int repeat(const DeviceRegion &region, int32_t parent) {
        const int32_t most = host_.passes_ahead(region);
        int status = host_.first_pass(region);
        for (int32_t passes = 1; status == 0; passes = std::min(2 * passes, most)) {
            status = inside(parent, region.begin, region.end);
            // A loop in front of the checkpoint to begin at is passed by.
            if (status || ended_ || first_ != 0) return status;
            for (int32_t late = 1; status == 0 && late < passes; ++late) {
                status = host_.late_pass(region);
                if (status == 0) status = inside(parent, region.begin, region.end);
            }
            int32_t value = 0;
            if (status == 0) status = host_.flag(region, &value);
            if (status || value == 0) return status;
            if (host_.failed()) {
                ended_ = true;
                return 0;
            }
            status = host_.next_pass(region);
        }
        return status;
    }

    int32_t number_of(size_t k) const {
        int32_t number = 0;
        for (size_t at = 0; at <= k; ++at) number += regions_[at].kind == RegionKind::checkpoint;
        return number;
    }

    Host &host_;
    const std::vector<DeviceRegion> &regions_;
    size_t tasks_;
    int32_t first_;
    int32_t yielded_ = 0;
    bool ended_ = false;
};

}  // namespace qd
