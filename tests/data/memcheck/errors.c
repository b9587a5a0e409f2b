// One error of every kind that Memcheck reports in a C program, and a loss record of every kind.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

struct node {
    struct node *next;
    char payload[24];
};

static volatile int sink;
static char *kept_inside;
static void *kept;

static void reads_and_writes(void) {
    char *block = malloc(16);
    for (int i = 0; i < 3; i++)
        block[16] = 1;
    sink = block[-1];
    free(block);
    sink = block[4];
    free(block);
}

static void uninitialised(void) {
    int *block = malloc(4 * sizeof(int));
    if (block[0] > 1)
        sink = 1;
    static int table[4];
    sink = table[block[1] & 3];
    int null = open("/dev/null", O_WRONLY);
    sink = (int)write(null, block, 8);
    sink = (int)write(null, (void *)block + 8, 9);
    close(null);
    VALGRIND_CHECK_MEM_IS_DEFINED(block, 4);
    free(block);
    VALGRIND_CHECK_MEM_IS_ADDRESSABLE(block, 4);
}

static void overlapping(void) {
    char text[32] = "overlapping overlapping";
    strcpy(text, text + 1);
}

static void odd_requests(void) {
    int on_stack = 0;
    VALGRIND_CREATE_MEMPOOL(&on_stack, 0, 0);
    VALGRIND_MEMPOOL_FREE(&sink, &on_stack);
    volatile long size = -3;
    free(malloc((size_t)size));
}

static void leaks(void) {
    struct node *first = calloc(1, sizeof(struct node));
    first->next = calloc(1, sizeof(struct node));
    first->next->next = calloc(1, sizeof(struct node));
    first = NULL;
    for (int i = 0; i < 3; i++)
        sink += malloc(100 + 0 * i) == NULL;
    kept_inside = (char *)malloc(64) + 8;
    kept = malloc(1234);
}

int main(void) {
    reads_and_writes();
    uninitialised();
    overlapping();
    odd_requests();
    leaks();
    return 7;
}
