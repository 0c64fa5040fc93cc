#include "simt_warp.hpp"

namespace qd::simt {
namespace {

using Lanes = uint64_t;

Lanes bit(int lane) { return Lanes{1} << lane; }

// Which of two waiting lanes is earlier in the program: the machine runs diverged lanes in the order of the text, so that
// they meet again where their paths do. Calls are compared from the outermost on, where both still were together.
int order(const Thread &a, const Thread &b) {
    int i = a.calls, j = b.calls;
    while (i > 0 && j > 0) {
        const void *p = a.sites[--i], *q = b.sites[--j];
        if (p != q) return p < q ? -1 : 1;
    }
    return i - j;
}

void finish(Thread *threads, int count, Lanes group, uint64_t (*result)(const Thread *, int, Lanes)) {
    for (int lane = 0; lane < count; ++lane)
        if (group & bit(lane)) threads[lane].result = result(threads, lane, group);
}

Lanes ballot(const Thread *threads, Lanes group) {
    Lanes lanes = 0;
    for (Lanes rest = group; rest; rest &= rest - 1) {
        const int lane = __builtin_ctzll(rest);
        if (threads[lane].value) lanes |= bit(lane);
    }
    return lanes;
}

Lanes equal(const Thread *threads, uint64_t value, Lanes group) {
    Lanes lanes = 0;
    for (Lanes rest = group; rest; rest &= rest - 1) {
        const int lane = __builtin_ctzll(rest);
        if (threads[lane].value == value) lanes |= bit(lane);
    }
    return lanes;
}

uint64_t vote(const Thread *threads, int op, Lanes group) {
    const Lanes yes = ballot(threads, group);
    switch (op) {
        case QD_SIMT_BALLOT: return yes;
        case QD_SIMT_ALL: return yes == group;
        case QD_SIMT_ANY: return yes != 0;
        case QD_SIMT_UNI: return yes == group || yes == 0;
        case QD_SIMT_MATCH_ALL: {
            const uint64_t first = threads[__builtin_ctzll(group)].value;
            return equal(threads, first, group) == group ? group : 0;
        }
        case QD_SIMT_ACTIVE: return group;
        default: return 0;
    }
}

uint64_t shuffled(const Thread *threads, int lane, Lanes group) {
    const int from = threads[lane].lane;
    return from >= 0 && from < 64 && (group & bit(from)) ? threads[from].value : poison;
}

uint64_t matching(const Thread *threads, int lane, Lanes group) { return equal(threads, threads[lane].value, group); }

void release(Thread *threads, int count, Lanes group) {
    const int op = threads[__builtin_ctzll(group)].what;
    if (op >= QD_SIMT_SHUFFLE && op <= QD_SIMT_SHUFFLE_XOR) {
        finish(threads, count, group, shuffled);
    } else if (op == QD_SIMT_MATCH_ANY) {
        finish(threads, count, group, matching);
    } else {
        const uint64_t result = vote(threads, op, group);
        for (Lanes rest = group; rest; rest &= rest - 1) threads[__builtin_ctzll(rest)].result = result;
    }
    for (Lanes rest = group; rest; rest &= rest - 1) threads[__builtin_ctzll(rest)].state = State::ready;
}

}  // namespace

bool resolve(Thread *threads, int count) {
    Lanes waiting = 0, gone = 0, stepping = 0;
    for (int lane = 0; lane < count; ++lane) {
        const Thread &thread = threads[lane];
        if (thread.state == State::in_warp) (thread.lockstep ? stepping : waiting) |= bit(lane);
        if (thread.state == State::ended || thread.state == State::left) gone |= bit(lane);
    }
    const Lanes present = (count == 64 ? ~Lanes{0} : bit(count) - 1) & ~gone;
    bool some = false;
    for (Lanes rest = waiting; rest; rest &= rest - 1) {
        const int lane = __builtin_ctzll(rest);
        const Thread &thread = threads[lane];
        const Lanes group = thread.mask & present;
        bool complete = (group & ~waiting) == 0;
        for (Lanes others = group; complete && others; others &= others - 1) {
            const Thread &other = threads[__builtin_ctzll(others)];
            complete = other.what == thread.what && other.mask == thread.mask;
        }
        if (!complete) continue;
        release(threads, count, group);
        waiting &= ~group;
        rest &= ~group | bit(lane);
        some = true;
    }
    if (some || !stepping) return some;
    Lanes group = 0;
    const Thread *first = nullptr;
    for (Lanes rest = stepping; rest; rest &= rest - 1) {
        const int lane = __builtin_ctzll(rest);
        const int sign = first ? order(threads[lane], *first) : -1;
        if (sign < 0) {
            first = &threads[lane];
            group = 0;
        }
        if (sign <= 0 && threads[lane].what == first->what) group |= bit(lane);
    }
    release(threads, count, group);
    return true;
}

}  // namespace qd::simt
