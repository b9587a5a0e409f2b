// Built twice by the tests of cg-diff, the second time with -DCHANGED: one function slower, one renamed, one inlined
// into its caller. Everything else stays.
#include <cstdint>
#include <vector>

#ifdef CHANGED
#define AS_TEXT to_text
#define INLINED_AWAY __attribute__((always_inline)) inline
#else
#define AS_TEXT as_text
#define INLINED_AWAY __attribute__((noinline))
#endif

namespace work {

volatile std::uint64_t sink;

__attribute__((noinline)) std::uint64_t slower(const std::vector<std::uint64_t> &values) {
    std::uint64_t sum = 0;
    for (auto value : values) {
        sum = sum * 31 + value;
#ifdef CHANGED
        sink = sum;
        sum ^= sum >> 3;
#endif
    }
    return sum;
}

__attribute__((noinline)) std::uint64_t AS_TEXT(const std::vector<std::uint64_t> &values) {
    std::uint64_t text = 0;
    for (auto value : values) {
        sink = value;
        text = (text << 3) ^ sink;
    }
    return text;
}

INLINED_AWAY static std::uint64_t inlined_away(std::uint64_t value) {
    for (int round = 0; round < 8; round++) {
        sink = value;
        value = (value * 0x9e3779b97f4a7c15u) ^ (sink >> 7);
    }
    return value;
}

__attribute__((noinline)) std::uint64_t caller(const std::vector<std::uint64_t> &values) {
    std::uint64_t sum = 0;
    for (auto value : values) {
        sum += inlined_away(value);
    }
    return sum;
}

template <typename T, typename F>
__attribute__((noinline)) std::uint64_t generic(const std::vector<T> &values, F change) {
    std::uint64_t sum = 0;
    for (auto value : values) {
        sink = value;
        sum += change(sink);
    }
    return sum;
}

} // namespace work

int main() {
    std::vector<std::uint64_t> values;
    std::vector<std::uint8_t> bytes;
    for (std::uint64_t value = 0; value < 2000; value++) {
        values.push_back(value);
        bytes.push_back(static_cast<std::uint8_t>(value));
    }
    std::uint64_t total = work::slower(values);
    total ^= work::AS_TEXT(values);
    total ^= work::caller(values);
    total ^= work::generic(values, [](std::uint64_t value) { return value + 1; });
    total ^= work::generic(bytes, [](std::uint64_t value) { return value * 3; });
    work::sink = total;
    return 0;
}
