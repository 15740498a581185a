/* SPDX-License-Identifier: MIT */
/* Serves requests whose size is from LOW to HIGH, in turn. Each has a kernel within another one,
 * which sleeps for 0.1 ms a unit, so that many of these disturb nobody; and as long as that there is
 * nothing to be served. ROUNDS times, or without it until the input ends.
 *
 *     kernel_service LOW HIGH [ROUNDS]
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

enum { ANSWER = 1, WAIT };

SPEX_PROBE_NAME(ANSWER, "answer");
SPEX_PROBE_NAME(WAIT, "wait");

static void serve(const struct timespec *time, long units) {
    SPEX_LAT_SCOPE("request", 1);
    KERNEL_PROBE_BEGIN(ANSWER, 1, units);
    KERNEL_PROBE_BEGIN(WAIT, 1, units);
    nanosleep(time, NULL);
    KERNEL_PROBE_END(WAIT);
    KERNEL_PROBE_END(ANSWER);
}

static int is_over(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;
    return poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    long low = strtol(argv[1], NULL, 10), high = strtol(argv[2], NULL, 10);
    long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    spex_start(NULL);
    puts("ready");
    fflush(stdout);
    for (long r = 0; rounds ? r < rounds : !is_over(); r++)
        for (long units = low; units <= high; units++) {
            struct timespec time = {.tv_nsec = units * 100000};
            serve(&time, units);
            nanosleep(&time, NULL);
        }
    spex_stop();
    return 0;
}
