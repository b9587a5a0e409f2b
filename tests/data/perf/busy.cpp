// Threads with names of all kinds, code that is inlined, a recursion, and a frame that begins with a parenthesis.
#include <pthread.h>
#include <thread>
#include <vector>

static volatile unsigned sink;

namespace {
struct Sieve {
    std::vector<char> is_composite;
    explicit Sieve(unsigned size) : is_composite(size) {}
    __attribute__((noinline)) unsigned primes() {
        unsigned found = 0;
        for (unsigned n = 2; n < is_composite.size(); n++) {
            if (is_composite[n]) continue;
            found++;
            for (unsigned m = 2 * n; m < is_composite.size(); m += n) is_composite[m] = 1;
        }
        return found;
    }
};
}

template <typename F> static inline unsigned times(unsigned count, F body) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) sum += body(i);
    return sum;
}

__attribute__((noinline)) static unsigned mix(unsigned count) {
    return times(count, [](unsigned i) { return (i * 2654435761u) ^ (sink >> 3); });
}

__attribute__((noinline)) static unsigned deeper(unsigned depth) {
    unsigned below = depth ? deeper(depth - 1) : mix(200000);
    sink = below;
    return below + depth;
}

int main() {
    auto named = [](const char *name, auto body) {
        return std::thread([=] {
            pthread_setname_np(pthread_self(), name);
            body();
        });
    };
    auto first = named("worker 1 (a)", [] { for (int i = 0; i < 150; i++) deeper(6); });
    auto second = named("7", [] { for (int i = 0; i < 40; i++) sink = Sieve(1 << 20).primes(); });
    first.join();
    second.join();
    return 0;
}
