/* SPDX-License-Identifier: MIT */
/* A library whose constructor calls spex and forks, while the loader is at work. */
#include <sys/wait.h>
#include <unistd.h>

/* The program's. */
extern int spex_set(const char *probes) __attribute__((weak));

__attribute__((constructor)) static void construct(void) {
    if (spex_set)
        (void)spex_set("+host.work");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    (void)waitpid(child, NULL, 0);
}
