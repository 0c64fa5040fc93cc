// What kernels print on devices that cannot print: they leave numbers in memory, from which the host makes the lines.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device.hpp"

namespace qd {

// A format of printf without lengths, and what its values are: codes of Python's `struct`, one of "iIqQfd" each.
struct PrintedLine {
    std::string format;
    std::string kinds;
};

// Appends the line that the values give.
void append_line(const PrintedLine &line, const uint64_t *values, std::string *text);

// Memory of one device, in words of 8 bytes:
//
//     0   32 bits: words in use, or more where some were refused; 32 bits: words there are behind these two
//     1   32 bits: lines that found no room
//     2   for each line in order: its number (32 bits) above its words, this one too; then its values. No words: the end
class PrintRing {
  public:
    explicit PrintRing(const Device *device) : device_(device) {}
    PrintRing(const PrintRing &) = delete;
    PrintRing &operator=(const PrintRing &) = delete;

    // Status of the driver. Once is enough.
    int open(size_t bytes);
    void close();
    uint64_t address() const { return address_; }

    // Appends what was printed since the last time to `text`, and waits for the work on the stream before that.
    int take(const std::vector<PrintedLine> &lines, const char *kernel, void *stream, std::string *text);

    // One launch at a time prints.
    std::mutex gate;

  private:
    const Device *device_;
    uint64_t address_ = 0;
    uint32_t words_ = 0;
};

}  // namespace qd
