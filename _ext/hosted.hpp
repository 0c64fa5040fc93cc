// A device whose memory is this process's own: for the SIMT emulator.
#pragma once

#include "device.hpp"

namespace qd {

using LaunchFunction = int (*)(void *, uint32_t, uint32_t, uint32_t, void *, void **);
using DescribeFunction = const char *(*)(int);

// A device with that launch function: the caller's.
Device *hosted_device(const char *name, LaunchFunction launch, DescribeFunction describe, int64_t shared_bytes,
                      int64_t compute_capability);

}  // namespace qd
