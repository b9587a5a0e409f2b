#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <thread>
#include <functional>
#include <malloc.h>
int global_array[10];
struct Base { virtual ~Base() {} };
template <class T> struct Store {
  std::vector<T> items;
  T *take(size_t n) { return new T[n]; }
};
__attribute__((noinline)) int heap_over(volatile int n) { char *p = (char *)malloc(10); p[n] = 1; free(p); return 0; }
__attribute__((noinline)) int heap_read(volatile int n) { auto *p = new int[4]; int r = p[n]; delete[] p; return r; }
__attribute__((noinline)) int use_after_free() { char *p = (char *)malloc(16); free(p); return p[3]; }
__attribute__((noinline)) int stack_over(volatile int n) { int a[4] = {0}; a[n] = 1; return a[0]; }
__attribute__((noinline)) int global_over(volatile int n) { return global_array[n]; }
__attribute__((noinline)) void double_free() { char *p = (char *)malloc(8); free(p); free(p); }
__attribute__((noinline)) void bad_free() { char *p = (char *)malloc(8); free(p + 4); }
__attribute__((noinline)) void mismatch() { int *p = (int *)malloc(8); delete p; }
__attribute__((noinline)) void new_delete_size() { struct A { int a; }; struct B { int a[8]; }; void *b = new B; delete (A *)b; }
__attribute__((noinline)) int *escape() { int local[4]; int *volatile p = local; return p; }
__attribute__((noinline)) int after_return() { int *p = escape(); return *p; }
__attribute__((noinline)) int after_scope() { volatile int *p; { volatile int x = 3; p = &x; } return *p; }
__attribute__((noinline)) int recurse(volatile int n) { volatile char big[1000]; big[0] = n; return recurse(n + 1) + big[0]; }
__attribute__((noinline)) void null_deref(volatile int *p) { *p = 1; }
__attribute__((noinline)) void overlap(volatile int n) { char b[32]; memset(b, 0, 32); memcpy(b, b + n, 8); }
__attribute__((noinline)) void negative(volatile long n) { char b[32]; memset(b, 0, n); }
__attribute__((noinline)) void too_big(volatile size_t n) { void *volatile p = malloc(n); (void)p; }
__attribute__((noinline)) void calloc_overflow(volatile size_t n) { void *volatile p = calloc(n, n); (void)p; }
__attribute__((noinline)) int container(volatile int n) { std::vector<int> v; v.reserve(10); v.push_back(1); return v.data()[n]; }
__attribute__((noinline)) void leak() { Store<std::string> s; auto f = [&](int n) { return s.take(n); }; (void)f(3); char **l = (char **)malloc(sizeof(char *)); *l = (char *)malloc(100); for (int i = 0; i < 3; i++) (void)strdup("leak"); }
__attribute__((noinline)) void in_thread() { std::thread t([] { heap_over(12); }); t.join(); }
__attribute__((noinline)) void fp() { ((void (*)())0x10)(); }
__attribute__((noinline)) void aborts() { abort(); }
__attribute__((noinline)) void usable() { int x; volatile size_t n = malloc_usable_size(&x); (void)n; }
__attribute__((noinline)) void align(volatile size_t a) { void *volatile p = aligned_alloc(a, 100); (void)p; }
__attribute__((noinline)) size_t str() { char *p = (char *)malloc(4); memset(p, 'a', 4); volatile size_t n = strlen(p); free(p); return n; }
__attribute__((noinline)) void fpe(volatile int z) { volatile int r = 3 / z; (void)r; }
int main(int argc, char **argv) {
  std::string what = argv[1];
  puts("program output"); fflush(stdout);
  if (what == "heap_over") heap_over(12); else if (what == "heap_under") heap_read(-1);
  else if (what == "use_after_free") return use_after_free();
  else if (what == "stack_over") return stack_over(5); else if (what == "global_over") return global_over(11);
  else if (what == "double_free") double_free(); else if (what == "bad_free") bad_free();
  else if (what == "mismatch") mismatch(); else if (what == "new_delete_size") new_delete_size();
  else if (what == "after_return") return after_return(); else if (what == "after_scope") return after_scope();
  else if (what == "stack_overflow") return recurse(0); else if (what == "segv") null_deref(nullptr);
  else if (what == "overlap") overlap(3); else if (what == "negative") negative(-3);
  else if (what == "too_big") too_big((size_t)1 << 60); else if (what == "calloc") calloc_overflow((size_t)1 << 40);
  else if (what == "container") return container(4); else if (what == "leak") leak();
  else if (what == "thread") in_thread(); else if (what == "jump") fp(); else if (what == "abort") aborts();
  else if (what == "usable") usable(); else if (what == "align") align(3); else if (what == "str") str(); else if (what == "fpe") fpe(0);
  else if (what == "twice") { heap_over(12); use_after_free(); leak(); }
}
