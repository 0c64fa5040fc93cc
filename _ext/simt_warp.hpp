// What the lanes of one warp do together.
#pragma once

#include "simt.hpp"

namespace qd::simt {

// What nobody wrote: as a float and as a double not a number, as an integer a large one.
constexpr uint64_t poison = 0x7ff4dead7ff4deadull;

// Lets lanes of a warp go on that wait for nobody any more; false when there are none. `threads` are the warp's, `count` of
// them, none of which can run.
bool resolve(Thread *threads, int count);

}  // namespace qd::simt
