#include "print_ring.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace qd {
namespace {

constexpr size_t head_words = 2;

template <class Value>
void append_value(const std::string &conversion, Value value, std::string *text) {
    char small[128];
    const int length = std::snprintf(small, sizeof small, conversion.c_str(), value);
    if (length < 0) return;
    const size_t size = static_cast<size_t>(length);
    if (size < sizeof small) {
        text->append(small, size);
        return;
    }
    std::string large(size + 1, '\0');
    std::snprintf(&large[0], large.size(), conversion.c_str(), value);
    text->append(large, 0, size);
}

template <class Value>
Value from_bits(uint64_t bits) {
    Value value;
    std::memcpy(&value, &bits, sizeof value);  // the low ones: host and device are little-endian
    return value;
}

// conversion: from % up to its letter, which is `letter`.
void append_number(char kind, std::string conversion, char letter, uint64_t bits, std::string *text) {
    const bool wide = kind == 'q' || kind == 'Q';
    conversion += wide ? std::string("ll") + letter : std::string(1, letter);
    switch (kind) {
        case 'i': return append_value(conversion, from_bits<int32_t>(bits), text);
        case 'I': return append_value(conversion, from_bits<uint32_t>(bits), text);
        case 'q': return append_value(conversion, static_cast<long long>(bits), text);
        case 'Q': return append_value(conversion, static_cast<unsigned long long>(bits), text);
        case 'f': return append_value(conversion, static_cast<double>(from_bits<float>(bits)), text);
        default: return append_value(conversion, from_bits<double>(bits), text);
    }
}

struct Head {
    uint32_t used;
    uint32_t words;
    uint32_t lost;
    uint32_t unused;
};

void append_lines(const std::vector<PrintedLine> &lines, const std::vector<uint64_t> &records, std::string *text) {
    for (size_t at = 0; at < records.size();) {
        const size_t number = static_cast<size_t>(records[at] >> 32), words = static_cast<uint32_t>(records[at]);
        if (words == 0 || at + words > records.size() || number >= lines.size()) return;
        if (lines[number].kinds.size() + 1 != words) return;
        append_line(lines[number], records.data() + at + 1, text);
        at += words;
    }
}

}  // namespace

void append_line(const PrintedLine &line, const uint64_t *values, std::string *text) {
    const std::string &format = line.format;
    size_t value = 0;
    for (size_t at = 0; at < format.size();) {
        const size_t begin = std::min(format.find('%', at), format.size());
        text->append(format, at, begin - at);
        if (begin == format.size()) return;
        const size_t end = format.find_first_not_of("0123456789.+-# ", begin + 1);
        if (end == std::string::npos) return;
        at = end + 1;
        if (format[end] == '%') {
            *text += '%';
        } else if (value < line.kinds.size()) {
            append_number(line.kinds[value], format.substr(begin, end - begin), format[end], values[value], text);
            ++value;
        }
    }
}

int PrintRing::open(size_t bytes) {
    if (address_) return 0;
    const size_t words = std::min<size_t>(std::max<size_t>(bytes / 8, head_words + 1), UINT32_MAX / 2);
    int status = device_->allocate(&address_, 8 * words);
    if (status) {
        address_ = 0;
        return status;
    }
    words_ = static_cast<uint32_t>(words - head_words);
    const Head head = {0, words_, 0, 0};
    return device_->to_device(address_, &head, sizeof head, nullptr);
}

void PrintRing::close() {
    if (address_) device_->release(address_);
    address_ = 0;
}

int PrintRing::take(const std::vector<PrintedLine> &lines, const char *kernel, void *stream, std::string *text) {
    Head head;
    int status = device_->to_host(&head, address_, sizeof head, stream);
    if (status || (head.used == 0 && head.lost == 0)) return status;
    std::vector<uint64_t> records(std::min(head.used, words_));
    if (!records.empty()) status = device_->to_host(records.data(), address_ + 8 * head_words, 8 * records.size(), stream);
    if (status) return status;
    append_lines(lines, records, text);
    if (head.lost) {
        char said[64];
        std::snprintf(said, sizeof said, "[Quadrants] %u prints of kernel '", static_cast<unsigned>(head.lost));
        *text += said + std::string(kernel) + "' lost; set QD_PRINT_BUFFER\n";
    }
    const Head empty = {0, words_, 0, 0};
    return device_->to_device(address_, &empty, sizeof empty, stream);
}

}  // namespace qd
