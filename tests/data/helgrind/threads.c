// What Helgrind and DRD report: races, locks taken in different order, and locks and barriers used wrongly.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int shared;
static int *on_heap;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t never_locked = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *work(void *unused) {
    shared++;
    on_heap[2]++;
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_mutex_lock(&held);
    return unused;
}

static void run(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    shared++;
    on_heap[2]++;
    pthread_join(thread, NULL);
}

int main(void) {
    on_heap = calloc(4, sizeof(int));
    run();
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&held);
    pthread_mutex_unlock(&never_locked);
    pthread_mutex_lock(&first);
    pthread_mutex_destroy(&first);
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_barrier_init(&barrier, NULL, 1);
    free(on_heap);
    return 0;
}
