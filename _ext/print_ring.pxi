# What kernels print where the device cannot.

cdef extern from "<string>" namespace "std" nogil:
    cdef cppclass cpp_name "std::string":
        cpp_name(const char *)
        const char *c_str()

cdef extern from "print_ring.hpp" namespace "qd" nogil:
    cdef cppclass PrintedLine:
        cpp_name format
        cpp_name kinds

    cdef cppclass PrintRing:
        PrintRing(const NativeDevice *)
        int open(size_t bytes)
        void close()
        uint64_t address()

    void append_line(const PrintedLine &line, const uint64_t *values, string *text)


cdef PrintedLine printed_line(str format, str kinds) except *:
    cdef PrintedLine line
    if set(kinds) - set("iIqQfd"):
        raise ValueError(f"values of the kinds {kinds!r} cannot be printed")
    told, codes = format.encode(), kinds.encode()
    line.format, line.kinds = cpp_name(<const char *> told), cpp_name(<const char *> codes)
    return line


def formatted(str format, str kinds, bytes values, /):
    """The line that words of 8 bytes give, for tests."""
    cdef PrintedLine line = printed_line(format, kinds)
    cdef string text
    cdef const char *words = values
    if len(values) != 8 * len(kinds):
        raise ValueError(f"{len(kinds)} values take as many words of 8 bytes, got {len(values)} bytes")
    append_line(line, <const uint64_t *> words, &text)
    return text.data()[: text.size()].decode("utf-8", "replace")
