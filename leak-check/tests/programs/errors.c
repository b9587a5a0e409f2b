/* One finding of each kind, in a function named after it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    struct node *next;
};

static void *volatile kept;
static char *volatile middle;

static void lose(void)
{
    char *block = malloc(64);
    block[0] = 1;
}

static void lose_chain(void)
{
    struct node *head = malloc(sizeof *head);
    head->next = malloc(sizeof *head);
    head->next->next = 0;
}

static void lose_all_but_the_middle(void)
{
    char *block = malloc(48);
    middle = block + 8;
}

static void keep(void)
{
    kept = malloc(32);
}

static void read_past_the_end(void)
{
    char *block = malloc(16);
    volatile char byte = block[16];
    (void)byte;
    free(block);
}

static void write_after_free(void)
{
    char *block = malloc(8);
    free(block);
    block[1] = 1;
}

static void free_twice(void)
{
    char *block = malloc(24);
    free(block);
    free(block);
}

static void decide(void)
{
    int *block = malloc(sizeof *block);
    if (*block == 42)
        kept = 0;
    free(block);
}

static void write_out(void)
{
    char *block = malloc(8);
    if (write(1, block, 8) == 0)
        kept = 0;
    free(block);
}

int main(void)
{
    lose();
    lose_chain();
    lose_all_but_the_middle();
    keep();
    read_past_the_end();
    write_after_free();
    free_twice();
    decide();
    write_out();
    return 0;
}
