#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <mutex>
#include <vector>
#include <unistd.h>
#include <signal.h>
int counter; int *block; pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
struct Box { virtual ~Box() {} virtual void go() {} int v = 0; };
static void *add(void *) { counter++; return nullptr; }
static void *named(void *) { pthread_setname_np(pthread_self(), "worker one"); for (int i = 0; i < 1000; i++) block[1]++; return nullptr; }
static void *freer(void *) { usleep(100000); free(block); return nullptr; }
static void *user(void *) { block[0] = 1; return nullptr; }
static void *ab(void *) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return nullptr; }
static void *ba(void *) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); return nullptr; }
static void *nothing(void *) { return nullptr; }
static void run(void *(*f)(void *), void *(*g)(void *)) { pthread_t x, y; pthread_create(&x, 0, f, 0); pthread_create(&y, 0, g, 0); pthread_join(x, 0); pthread_join(y, 0); }
static void handler(int) { void *volatile p = malloc(10); free(p); }
int main(int, char **argv) {
  std::string what = argv[1]; puts("program output"); fflush(stdout);
  if (what == "race") run(add, add);
  if (what == "heap") { block = (int *)malloc(16); run(named, named); free(block); }
  if (what == "uaf") { block = (int *)malloc(16); run(user, freer); }
  if (what == "deadlock") { pthread_t t; pthread_create(&t, 0, ab, 0); pthread_join(t, 0); pthread_create(&t, 0, ba, 0); pthread_join(t, 0); }
  if (what == "threadleak") { pthread_t t; pthread_create(&t, 0, nothing, 0); pthread_create(&t, 0, nothing, 0); usleep(100000); }
  if (what == "unlock") { pthread_mutex_unlock(&a); }
  if (what == "destroy") { auto *m = new std::mutex; m->lock(); pthread_mutex_destroy(m->native_handle()); }
  if (what == "double") { pthread_mutex_lock(&a); pthread_mutex_t m; memset(&m, 0, sizeof m); pthread_mutex_init(&m, 0); pthread_mutex_destroy(&m); pthread_mutex_lock(&m); }
  if (what == "signal") { signal(SIGUSR1, handler); raise(SIGUSR1); }
  if (what == "lambda") { std::vector<int> v(3); std::thread t([&] { v[1] = 4; }); v[1] = 5; t.join(); }
  if (what == "fd") { int p[2]; pipe(p); std::thread t([&] { char c; write(p[1], &c, 1); }); usleep(1000); close(p[1]); t.join(); }
  if (what == "segv") { *(volatile int *)nullptr = 1; }
}
