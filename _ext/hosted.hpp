// A device whose memory is this process's own: for the SIMT emulator.
#pragma once

#include "qd_device.h"

namespace qd {

using LaunchFunction = int (*)(void *, uint32_t, uint32_t, uint32_t, void *, void **);
using DescribeFunction = const char *(*)(int);

// The table with that launch function. One emulator a process: a second call changes the first one's table.
const qd_device_api *hosted_device(const char *name, LaunchFunction launch, DescribeFunction describe, int64_t shared_bytes,
                                   int64_t compute_capability);

}  // namespace qd
