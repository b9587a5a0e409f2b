// What a heap profile can show: growth in steps, a peak that comes twice, blocks freed at once, a leak, inlined code.
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static char* volatile sink;

static inline __attribute__((always_inline)) char* innermost(std::size_t size)
{
    char* block = static_cast<char*>(std::malloc(size));
    sink = block;
    return block;
}
static inline __attribute__((always_inline)) char* middle(std::size_t size)
{
    return innermost(size + 1);
}
NOINLINE char* outermost(std::size_t size)
{
    char* block = middle(size + 1);
    sink = block;
    return block;
}

NOINLINE void leak() { sink = outermost(98); }

NOINLINE void churn()
{
    for (int i = 0; i < 5; ++i) {
        sink = outermost(998);
        std::free(sink);
    }
}

NOINLINE void twice()
{
    for (int i = 0; i < 2; ++i) {
        char* block = static_cast<char*>(std::malloc(i == 0 ? 60000 : 30000));
        char* other = i == 0 ? nullptr : static_cast<char*>(std::malloc(30000));
        sink = block;
        std::free(other);
        std::free(block);
    }
}

NOINLINE int descend(int depth)
{
    std::string text(100 + depth, 'x');
    sink = &text[0];
    return depth == 0 ? 0 : 1 + descend(depth - 1);
}

int main(int argc, char**)
{
    leak();
    churn();
    twice();
    std::vector<std::string> texts;
    for (int i = 0; i < 50; ++i)
        texts.emplace_back(64, 'x');
    leak();
    int depth = descend(4);
    if (argc > 1) {
        // Far more than heaptrack holds back.
        for (int i = 0; i < 20000; ++i)
            sink = outermost(i);
        std::raise(SIGKILL);
    }
    return depth == 4 ? 0 : 1;
}
