/* One leak. */
#include <stdlib.h>

static char *make(void)
{
    return malloc(64);
}

int main(void)
{
    make()[0] = 1;
    return 0;
}
