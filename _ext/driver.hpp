// Drivers of real devices, found at run time: nothing is linked.
#pragma once

#include "qd_device.h"

namespace qd {

// The table of one device of a vendor ("cuda" or "hip"), counted among those that the process can see, or null; `why` then
// says what is missing. Needs no GIL.
const qd_device_api *driver(const char *vendor, int32_t ordinal, const char **why);

}  // namespace qd
