#include <cstdio>
#include <cstdlib>
#include <unistd.h>
__attribute__((noinline)) int branch(int *p) { if (p[1]) return 3; return 4; }
int main(int c, char **v) { puts("program output"); fflush(stdout);
  if (c == 1) { int *p = (int *)malloc(8); return branch(p); }
  if (c == 2) { int x[2]; x[0] = 1; return branch(x); }
  if (c == 3) { int *p = new int[2]; free(p); return branch(p); }
  if (c == 4) { char b[4]; char *volatile q = b; write(2, q, 4); }
}
