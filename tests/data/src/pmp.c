#include <pthread.h>
#include <unistd.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void stir(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink ^= i * 7; }
__attribute__((noinline)) void leaf(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void rec(int d) { if (d) rec(d - 1); else leaf(3000000); sink++; }
__attribute__((noinline)) void heavy(void) { stir(9000000); sink++; }
static void *waits(void *p) { (void)p; pause(); return 0; }
int main(int argc, char **argv) { (void)argv; pthread_t t; pthread_create(&t, 0, waits, 0); pthread_setname_np(t, "io: 2 (x)"); for (;;) { rec(argc + 1); heavy(); } }
