/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "clock.h"

#define THREADS_MOST 512

atomic_bool crew_has_ended;

static pthread_t threads[THREADS_MOST];
static size_t thread_count;
static sigset_t signals;

void crew_prepare(void) {
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

void crew_add(void *(*work)(void *), void *argument) {
    int error = thread_count == THREADS_MOST
                    ? EAGAIN
                    : pthread_create(&threads[thread_count], NULL, work, argument);
    if (error)
        errx(1, "cannot start thread %zu: %s", thread_count + 1, strerror(error));
    thread_count++;
}

/* Until a signal comes or the time is over; what stops and continues the program is neither. */
static void wait_until(uint64_t end) {
    int signal_number = 0;
    while (signal_number <= 0) {
        uint64_t now = clock_ns(), left = now < end ? end - now : 0;
        struct timespec time = {.tv_sec = (time_t)(left / 1000000000)};
        time.tv_nsec = (long)(left % 1000000000);
        signal_number = sigtimedwait(&signals, NULL, &time);
        if (signal_number < 0 && errno == EAGAIN)
            return;
    }
}

void crew_wait(double seconds) {
    int signal_number;
    if (seconds > 0)
        wait_until(clock_ns() + (uint64_t)(seconds * 1e9));
    else
        sigwait(&signals, &signal_number);
    atomic_store_explicit(&crew_has_ended, true, memory_order_relaxed);
}

void crew_join(void) {
    for (size_t i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
}
