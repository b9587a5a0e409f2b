/* No errors and no leaks. */
#include <stdlib.h>

int main(void)
{
    free(malloc(64));
    return 0;
}
