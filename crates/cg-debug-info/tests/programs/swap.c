// encode() has 30 nops and decode() has 20. run() calls them in two loops, 2,000 and 200 times.
#include <stdio.h>
static inline unsigned encode(unsigned x) { asm volatile(".rept 30\n nop\n .endr" : "+r"(x)); return x; }
static inline unsigned decode(unsigned x) { asm volatile(".rept 20\n nop\n .endr" : "+r"(x)); return x * 3; }
__attribute__((noinline)) unsigned run(int n) {
  unsigned s = 1;
  for (int i = 0; i < n; i++) s += encode(s + i);
  for (int i = 0; i < n / 10; i++) s += decode(s ^ i);
  return s;
}
int main() { printf("%u\n", run(2000)); }
