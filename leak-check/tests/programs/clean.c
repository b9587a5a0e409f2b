/* Nothing to find. */
#include <stdlib.h>

int main(void)
{
    free(malloc(64));
    return 0;
}
