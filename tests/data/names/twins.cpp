// Leaks in what a C++ program allocates by: containers, visitors, lambdas, templates, functions of C's library.
// tests/names.rs builds and runs it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace app {
struct A { int x; std::string s; };
struct B {};
struct Visitor {
    int *operator()(A &) { return new int[3]; }
    int *operator()(B &) { return nullptr; }
};

NOINLINE void lose_vector() {
    auto v = new std::vector<std::string>;
    for (int i = 0; i < 5; i++) v->push_back(std::string(40, 'x'));
    v = nullptr;
}

NOINLINE void lose_maps() {
    auto m = new std::map<int, std::string>;
    (*m)[3] = "abcdefghijklmnopqrstuvwxyz0123456789";
    m = nullptr;
    auto u = new std::unordered_map<std::string, int>;
    (*u)["k"] = 3;
    u = nullptr;
}

NOINLINE void visit() {
    std::variant<A, B> v = A{};
    int *p = std::visit(Visitor{}, v);
    p = nullptr;
}

NOINLINE void lose_in_lambdas() {
    std::function<int *(int)> f = [](int n) { return new int[n]; };
    int *p = f(4);
    p = nullptr;
    std::vector<int> q{3, 1, 2};
    std::sort(q.begin(), q.end(), [](int a, int b) {
        void *z = malloc(5);
        z = nullptr;
        return a < b;
    });
}

template <class T> struct Tree {
    T *t;
    void grow() { t = new T[7]; }
};

NOINLINE void share() {
    auto p = new std::shared_ptr<A>(std::make_shared<A>());
    p = nullptr;
    Tree<long> t;
    t.grow();
}
} // namespace app

extern "C" int compare(const void *a, const void *b) {
    void *z = malloc(11);
    z = nullptr;
    return *(int *)a - *(int *)b;
}

int main() {
    app::lose_vector();
    app::lose_maps();
    app::visit();
    app::lose_in_lambdas();
    app::share();
    char *d = strdup("hello world");
    d = nullptr;
    int a[] = {3, 2, 1};
    qsort(a, 3, 4, compare);
    FILE *f = fopen("/dev/null", "r");
    f = nullptr;
    DIR *directory = opendir("/");
    directory = nullptr;
    char *s = nullptr;
    if (asprintf(&s, "x%d", 3) < 0) return 1;
    s = nullptr;
    char *line = nullptr;
    size_t n = 0;
    FILE *g = fopen("/etc/passwd", "r");
    if (getline(&line, &n, g) < 0) return 1;
    line = nullptr;
    return 0;
}
