#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <climits>
enum E { A, B };
struct S { virtual int f() { return 1; } int x; }; struct T : S { int f() override { return 2; } }; struct U { virtual int g() { return 3; } };
int noreturn(volatile int n) { if (n > 100) return 1; }
int overflow(volatile int n) { return n + 1; }
template <class N> N shift(volatile int n) { return N(1) << n; }
int main(int argc, char **argv) {
  volatile int n = argc; puts("program output"); fflush(stdout);
  overflow(INT_MAX); shift<int>(40);
  volatile int a[4]; volatile int i = 4; a[i] = 0;
  volatile int z = 0; volatile int *volatile p = (int *)((char *)malloc(16) + 1); *p = 3;
  volatile char ev = 7; volatile bool *bp = (bool *)&ev; volatile bool b = *bp; (void)b;
  volatile double d = 1e30; volatile int di = d; (void)di;
  char buf[8]; char *volatile q = buf; volatile uintptr_t huge = UINTPTR_MAX; q = q + huge;
  U u; S *volatile s = (S *)(void *)&u; s->f();
  volatile int k = -INT_MAX - 1; k = -k;
  int *volatile np = nullptr; if (argc > 1) *np = 1;
  (void)__builtin_clz(z);
  volatile int len = -1; if (argc > 2) { int vla[len]; vla[0] = 1; }
  for (int j = 0; j < 2; j++) overflow(INT_MAX);
}
