/* SPDX-License-Identifier: MIT */
/* A server of sorts, whose disk is slow while the file that STALL names is there. *
 *     stalled ROWS REQUESTS
 *
 *     request(rows) ──┬── fetch(rows)     waits 20 ms when the disk is slow
 *                     └── digest(rows)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <spex/kernel.h>
#include <spex/spex.h>

enum { REQUEST = 1, FETCH, DIGEST };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(FETCH, "fetch");
SPEX_PROBE_NAME(DIGEST, "digest");

static const char *stall;
static volatile uint64_t sink;

static void work(unsigned steps) {
    uint64_t sum = sink;
    for (unsigned s = 0; s < steps; s++)
        sum = sum * 6364136223846793005u + s;
    sink = sum;
}

static void fetch(unsigned rows) {
    const struct timespec slow = {.tv_nsec = 20000000};
    KERNEL_PROBE_BEGIN(FETCH, 1, rows);
    work(rows * 20);
    if (stall && access(stall, F_OK) == 0)
        nanosleep(&slow, NULL);
    KERNEL_PROBE_END(FETCH);
}

static void digest(unsigned rows) {
    KERNEL_PROBE_BEGIN(DIGEST, 1, rows);
    work(rows * 30);
    KERNEL_PROBE_END(DIGEST);
}

static void request(unsigned rows) {
    KERNEL_PROBE_BEGIN(REQUEST, 1, rows);
    fetch(rows);
    digest(rows);
    KERNEL_PROBE_END(REQUEST);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    unsigned rows = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned long requests = strtoul(argv[2], NULL, 10);
    stall = getenv("STALL");
    spex_start(NULL);
    puts("ready");
    fflush(stdout);
    for (unsigned long r = 0; r < requests; r++)
        request(rows);
    spex_stop();
    return 0;
}
