/* A signal ends this program while it still has a block. */
#include <signal.h>
#include <stdlib.h>

int main(void)
{
    char *volatile block = malloc(8);
    (void)block;
    raise(SIGTERM);
    return 0;
}
