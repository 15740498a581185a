/* SPDX-License-Identifier: MIT */
/* Has 200 probes and executes all of them in each of its threads, with a pause after each time; for
 * serve.py.
 *
 *     many THREADS PAUSE     a pause of so many milliseconds, until the input ends */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { THREADS_MAX = 64 };

#define ONE(id)                                                                                    \
    LAT_PROBE_BEGIN(id, 1);                                                                        \
    LAT_PROBE_END(id);
/* Ids are part of names, so that they must be plain numbers: 10 to 209. Analysers see none: cppcheck
 * takes very long for so many. */
#if defined(__cppcheck__) || defined(__clang_analyzer__)
#define TEN(id)
#else
#define TEN(id)                                                                                    \
    ONE(id##0)                                                                                     \
    ONE(id##1)                                                                                     \
    ONE(id##2)                                                                                     \
    ONE(id##3)                                                                                     \
    ONE(id##4) ONE(id##5) ONE(id##6) ONE(id##7) ONE(id##8) ONE(id##9)
#endif

static long pause_ns;

static void execute_all(void) {
    TEN(1)
    TEN(2)
    TEN(3)
    TEN(4)
    TEN(5)
    TEN(6)
    TEN(7)
    TEN(8)
    TEN(9)
    TEN(10)
    TEN(11)
    TEN(12)
    TEN(13)
    TEN(14)
    TEN(15)
    TEN(16)
    TEN(17)
    TEN(18)
    TEN(19)
    TEN(20)
}

static void *work(void *unused) {
    const struct timespec pause = {pause_ns / 1000000000, pause_ns % 1000000000};
    for (;;) {
        execute_all();
        nanosleep(&pause, NULL);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    long threads = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    pause_ns = argc == 3 ? strtol(argv[2], NULL, 10) * 1000000 : 0;
    if (threads < 1 || threads > THREADS_MAX || pause_ns < 1)
        errx(2, "usage: many THREADS PAUSE");
    if (spex_start(NULL) != 0)
        errx(1, "spex cannot start");
    for (long t = 0; t < threads; t++)
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            errx(1, "a thread cannot start");
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
