/* SPDX-License-Identifier: MIT */
/* Programs that load a library with probes: without spex, with probes but without spex (PROBES), and
 * with a spex of its own (SPEX).
 *
 *     host LIBRARY works N            executes its probes N times
 *     host LIBRARY forks N CHILDREN   each child, too, and ends by _exit; waits for it
 *     host LIBRARY cannot             forks where it cannot
 *
 * LIBRARY "-": none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SPEX
#include <spex/spex.h>
#endif
#if defined(SPEX) || defined(PROBES)
#include <spex/probe.h>
enum { OWN = 5 };
SPEX_PROBE_NAME(OWN, "host.work");
#endif

static unsigned (*library_work)(unsigned times);

static void work(unsigned times) {
    if (library_work)
        library_work(times);
#if defined(SPEX) || defined(PROBES)
    for (unsigned i = 0; i < times; i++) {
        CNT_PROBE_BEGIN(OWN, 1);
        CNT_PROBE_END(OWN);
    }
#endif
}

static int forks(unsigned times, int children) {
    for (int c = 0; c < children; c++) {
        errno = ENOTBLK;
        pid_t child = fork();
        if (errno != ENOTBLK)
            return 9;
        if (child == 0) {
            work(times);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 8;
    }
    return 0;
}

static int cannot(void) {
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || setresuid(65534, 65534, 65534) != 0)
        return 77;
    return fork() < 0 && errno == EAGAIN ? 0 : 7;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
#ifdef SPEX
    if (spex_start(NULL) != 0)
        return 3;
#endif
    void *library = strcmp(argv[1], "-") != 0 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library)
        *(void **)&library_work = dlsym(library, "plugin_work");
    unsigned times = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    work(times);
    if (strcmp(argv[2], "forks") == 0)
        return forks(times, atoi(argv[4]));
    return strcmp(argv[2], "cannot") == 0 ? cannot() : 0;
}
