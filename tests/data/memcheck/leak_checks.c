// Several leak checks in one run: a full one, two that show what changed, and the one at exit.
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void *kept[8];

static void take(int position, size_t size) { kept[position] = malloc(size); }

static void lose(int position) { kept[position] = NULL; }

int main(void) {
    for (int i = 0; i < 4; i++)
        take(i, 10 + i);
    lose(0);
    VALGRIND_DO_LEAK_CHECK;
    lose(1);
    VALGRIND_DO_ADDED_LEAK_CHECK;
    lose(2);
    take(4, 500);
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    free(kept[3]);
    kept[3] = NULL;
    return 0;
}
