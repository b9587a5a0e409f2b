// Functions that are local to their unit and have no mangled names in GCC's debug information. With -DHOW=always_inline all
// are inlined. With -DHOW=noinline none are inlined, so they have symbols with their names.
#define A __attribute__((HOW))
#define NOP asm volatile("nop" ::: "memory")
struct Plain { int x; };
typedef struct { int y; } Typed;
enum Kind { one, two };
namespace app {
struct Point { int x, y; };
template <class T> struct Box { T v; };
static A int weigh(Point p, int k) { NOP; return p.x * k; }
static A int weigh(int a, const char* text) { NOP; return a + *text; }
static A int weigh(const Point& p, unsigned long n, Point* const q) { NOP; return p.y + int(n) + q->x; }
static A int weigh(Box<Point>&& b, long long n, short s) { NOP; return b.v.x + int(n) + s; }
static A int call(int (*f)(int, char), volatile bool* b) { NOP; return f(1, 'a') + *b; }
static A void none() { NOP; }
namespace {
A int hide(Kind k, Typed t, double d) { NOP; return k + t.y + int(d); }
struct Own {
  int v;
  A int get(Plain p) const { NOP; return v + p.x; }
  A int set(unsigned char c) { NOP; return v += c; }
};
}
template <class T> static A int twice(T t) { NOP; return int(t) * 2; }
}
static A int helper(signed char c, wchar_t w) { NOP; return c + w; }
__attribute__((noinline)) static int pick(int a, char b) { NOP; return a + b; }
int main(int argc, char** argv) {
  app::Point p{argc, 2};
  volatile bool flag = true;
  app::Own own{argc};
  app::none();
  auto first = [&](int x) A { NOP; return x + p.x; };
  auto second = [&](int x) A { NOP; return x * p.y; };
  auto third = [](const app::Point& q, char** v) A { NOP; return q.x + **v; };
  auto outer = [&](long n) A {
    auto inner = [](int m) A { NOP; return m ^ 5; };
    NOP;
    return inner(int(n)) + 1;
  };
  return app::weigh(p, argc) + app::weigh(argc, argv[0]) + app::weigh(p, argc, &p) + app::weigh(app::Box<app::Point>{p}, 3, 4) + app::call(pick, &flag) +
         app::hide(two, Typed{3}, 2.0) + own.get(Plain{argc}) + own.set(3) + app::twice(argc) + app::twice(2.5f) + helper(argc, L'x') +
         first(argc) + second(argc) + third(p, argv) + outer(argc);
}
