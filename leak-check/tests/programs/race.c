/* Two threads increment one variable without a lock. */
#include <pthread.h>

static int counter;

static void *count(void *unused)
{
    (void)unused;
    counter++;
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
