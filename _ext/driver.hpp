// Drivers of real devices, found at run time: nothing is linked.
#pragma once

#include "qd_device.h"

namespace qd {

// The table of a vendor ("cuda" or "hip"), or null; `why` then says what is missing. Needs no GIL.
const qd_device_api *driver(const char *vendor, const char **why);

}  // namespace qd
