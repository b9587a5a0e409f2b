// A process that forks, one that executes another program, and one that is killed.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char sink;

static void read_freed(void) {
    char *block = malloc(5);
    free(block);
    sink = block[2];
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "fork")) {
        read_freed();
        if (fork() == 0) {
            sink = *(char *)malloc(11);
            read_freed();
            return 3;
        }
        wait(NULL);
    } else if (!strcmp(what, "exec")) {
        read_freed();
        execl(arguments[2], arguments[2], "plain", NULL);
    } else if (!strcmp(what, "kill")) {
        read_freed();
        raise(SIGSEGV);
    } else if (!strcmp(what, "jump")) {
        ((void (*)(void))0x1234)();
    } else {
        sink = *(char *)malloc(22);
    }
    return 0;
}
