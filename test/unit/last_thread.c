/* SPDX-License-Identifier: MIT */
/* How often it is looked whether the process is to end, by a clock and a first thread that are made. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../check.h"
#include "base/clock.h"

static struct {
    uint64_t ns;
    bool left;
    unsigned looks, wakes;
} made;

static uint64_t made_clock(void) {
    return made.ns;
}

/* What a process whose first thread has left shows of its file. Others of its threads stay. */
static ssize_t made_readlink(void) {
    made.looks++;
    errno = ENOENT;
    return made.left ? -1 : 1;
}

static void made_wake(void) {
    made.wakes++;
}

#define spex_clock_ns(clock)        ((void)(clock), made_clock())
#define readlink(path, bytes, size) ((void)(path), (void)(bytes), (void)(size), made_readlink())
#include "base/last_thread.c" // NOLINT(bugprone-suspicious-include)
#undef readlink
#undef spex_clock_ns

static const uint64_t ms = 1000000;

/* Looks when it is due for so long. Returns how often. */
static unsigned looks_in(uint64_t ns) {
    unsigned before = made.looks;
    for (uint64_t end = made.ns + ns; made.ns < end; made.ns += ms)
        spex_last_thread_look_if_due();
    return made.looks - before;
}

/* Seldom while the first thread is there; soon after it has left, and ever more seldom then, until
 * another one leaves. */
TEST(looks_become_rare_where_threads_stay) {
    made.ns = 1000 * ms;
    spex_last_thread_wake_by(made_wake);
    assert_in_range(looks_in(10000 * ms), 9, 11);
    spex_last_thread_is_told();
    looks_in(1000 * ms);
    assert_int_equal(looks_in(30000 * ms), 3);
    spex_last_thread_another_leaves();
    assert_int_equal(made.wakes, 0);
    spex_last_thread_leaves();
    assert_int_equal(made.wakes, 1);
    made.left = true;
    assert_in_range(looks_in(200 * ms), 2, 3);
    assert_in_range(looks_in(1800 * ms), 3, 5);
    assert_in_range(looks_in(60000 * ms), 59, 61);
    spex_last_thread_another_leaves();
    assert_int_equal(made.wakes, 2);
    spex_last_thread_another_leaves(); /* a look is near */
    assert_int_equal(made.wakes, 2);
    assert_in_range(looks_in(200 * ms), 2, 3);
}

/* A thread of the program that stays. */
static void *stay(void *arg) {
    pause();
    return arg;
}

int main(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, stay, NULL) != 0 || tests_run(NULL, NULL);
}
