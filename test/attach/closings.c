/* SPDX-License-Identifier: MIT */
/* What holds breakpoints is closed by processes of its own, also by several threads at a time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "../check.h"
#include "attach/tasks/beside.h"

enum { THREADS = 4, CLOSINGS = 500 };

/* The end of the pipe is the last one when the closing has been waited for: nobody else has it. */
TEST(a_closing_ends_what_it_was_given) {
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    assert_true(spex_beside_end(&ends[1], 1) >= 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void *close_many(void *unused) {
    for (int n = 0; n < CLOSINGS; n++) {
        int descriptor = dup(STDIN_FILENO);
        spex_beside_end(&descriptor, 1);
    }
    return unused;
}

/* They wait for their gates and not for each other. */
TEST(threads_close_at_a_time) {
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, close_many, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
}
