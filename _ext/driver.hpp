// Drivers of real devices, found at run time: nothing is linked.
#pragma once

#include "device.hpp"

namespace qd {

// A device of a vendor ("cuda" or "hip"), counted among those that the process can see: the caller's, or null; `why` then says
// what is missing. Needs no GIL.
Device *driver(const char *vendor, int32_t ordinal, const char **why);

}  // namespace qd
