/* SPDX-License-Identifier: MIT */
#include "footprint.h"

#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>

#include "crew.h"

/* The second number of /proc/self/statm, which is in pages. */
static uint64_t resident_kb(int statm) {
    char text[128];
    ssize_t length = pread(statm, text, sizeof(text) - 1, 0);
    if (length <= 0)
        err(1, "/proc/self/statm");
    text[length] = '\0';
    const char *second = strchr(text, ' ');
    return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024 : 0;
}

void *footprint_watch(void *unused) {
    (void)unused;
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (statm < 0)
        err(1, "/proc/self/statm");
    while (!crew_ends()) {
        SPEX_SNAPSHOT("footprint", resident_kb(statm));
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    close(statm);
    return NULL;
}
