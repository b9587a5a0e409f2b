/* Ends by a signal, with a block in its hands. */
#include <signal.h>
#include <stdlib.h>

int main(void)
{
    char *volatile block = malloc(8);
    (void)block;
    raise(SIGTERM);
    return 0;
}
