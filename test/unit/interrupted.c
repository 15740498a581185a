/* SPDX-License-Identifier: MIT */
/* Probes of every type in signal handlers that interrupt the same probes, and others, at any
 * moment, themselves interrupted by handlers: every execution is recorded once. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "../check.h"
#include "../status.h"
#include "places.h"

enum { HANDLED = 6000, THREADS = 2 };

static uint64_t handled;  /* executions of places_all, by all handlers */
static uint64_t executed; /* by the threads themselves */
static uint64_t errno_changed;
static bool running;

PLACE place_own(void) {
    LAT_PROBE_BEGIN(PLACES_ID, 1);
    LAT_PROBE_END(PLACES_ID);
}

static uint64_t own; /* of place_own */

static void handle(int signal) {
    const int saved = errno;
    errno = 4711;
    place_own();
    places_all();
    if (errno != 4711)
        spex_fetch_add_relaxed(&errno_changed, 1);
    spex_fetch_add_relaxed(&own, 1);
    spex_fetch_add_relaxed(&handled, 1);
    errno = saved;
    (void)signal;
}

static void nothing(void) {
}

static void *worker_run(void *arg) {
    uint64_t rounds = 0;
    (void)arg;
    while (spex_load_relaxed(&running)) {
        places_all();
        places_around(nothing);
        rounds += 2;
    }
    spex_fetch_add_relaxed(&executed, rounds);
    return NULL;
}

/* SIGALRM comes with the timer, to any thread; SIGUSR1 to each worker, as fast as it can be sent.
 * Each may interrupt the other's handler. */
TEST(handlers_at_a_high_rate) {
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    struct places_tally tally = {0};
    pthread_t workers[THREADS];
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(places_start(&tally, 1u << 18), 0);
    spex_store_relaxed(&running, true);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&workers[t], NULL, worker_run, NULL), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    while (spex_load_relaxed(&handled) < HANDLED)
        for (unsigned t = 0; t < THREADS; t++)
            pthread_kill(workers[t], SIGUSR1);
    setitimer(ITIMER_REAL, &never, NULL);
    spex_store_relaxed(&running, false);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(workers[t], NULL);
    signal(SIGALRM, SIG_IGN); /* none comes after it */
    spex_stop();
    tally.records[1] -= own;
    tally.weight[1] -= own;
    struct spex_status now = status_now();
    assert_int_equal(errno_changed, 0);
    assert_int_equal(now.unrecorded, 0);
    assert_int_equal(now.produced, (executed + handled) * PLACES_TYPES + own);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_int_equal(now.pending, 0);
    if (now.lost == 0)
        assert_true(places_are(&tally, executed + handled));
}

/* A thread's first probe is in its handler, and interrupts that of the thread itself. */
static void *short_run(void *arg) {
    sigset_t usr1;
    (void)arg;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    places_all();
    spex_fetch_add_relaxed(&executed, 1);
    return NULL;
}

TEST(handlers_at_the_beginning_of_threads) {
    enum { SHORT_THREADS = 500 };
    struct spex_status before = status_now();
    sigset_t usr1;
    handled = executed = own = 0;
    assert_int_equal(places_start(NULL, 1u << 16), 0);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    for (unsigned t = 0; t < SHORT_THREADS; t++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, short_run, NULL), 0);
        pthread_kill(thread, SIGUSR1);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    spex_stop();
    struct spex_status now = status_now();
    /* A thread that is interrupted between the rounds of its destructors gets a state again, but no
     * third one. */
    assert_int_equal(now.produced - before.produced + now.unrecorded,
                     (executed + handled) * PLACES_TYPES + own);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_true(now.unrecorded < now.produced - before.produced);
    assert_true(handled > 0);
}
