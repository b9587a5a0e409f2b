/* Memory of several shapes: it grows node by node, through recursion and through one function called from two lines,
   spikes once, is reallocated, mapped and aligned, and is only partly given back. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct node {
    struct node *next;
    char payload[200];
};

static struct node *list;
static void *kept[64];

static void *filled(size_t size)
{
    return memset(malloc(size), 7, size);
}

static void grow(int nodes)
{
    for (int i = 0; i < nodes; i++) {
        struct node *node = filled(sizeof *node);
        node->next = list;
        list = node;
    }
}

static void *descend(int depth)
{
    volatile char frame[512];
    frame[0] = (char)depth;
    return depth > 0 ? descend(depth - 1) : filled(5000 + frame[0]);
}

static void spike(void)
{
    free(filled(300000));
}

static void shrink(int nodes)
{
    while (nodes-- > 0) {
        struct node *rest = list->next;
        free(list);
        list = rest;
    }
}

int main(void)
{
    grow(100);
    kept[0] = descend(12);
    spike();
    grow(40);
    for (int i = 1; i < 20; i++)
        kept[i] = realloc(filled(64), 100 * i);
    kept[20] = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (posix_memalign(&kept[21], 4096, 3000) != 0)
        return 1;
    memcpy(kept[21], kept[0], 3000);
    shrink(90);
    return 0;
}
