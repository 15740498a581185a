/* SPDX-License-Identifier: MIT */
/* What a fork leaves to the parent and to the child. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "../children.h"
#include "../status.h"
#include "collect/metrics.h"
#include "life.h"

/* The child's half of a fork; its exit code says what is wrong. */
static int child_checks(unsigned times) {
    struct tally tally = {.probe_id = WORK};
    struct spex_status at_fork = status_now();
    if (at_fork.collectors != 0 || at_fork.sites_on != 0 || spex_metrics_there())
        return 10;
    work(5);
    if (status_now().produced != 0 || status_now().pending != 0)
        return 11;
    if (spex_set("life.work") != -EPERM)
        return 12;
    if (getenv("TEST_EMULATED")) /* main says why */
        return 0;
    capture_start(tally_see, &tally);
    if (start("life.work") != 0)
        return 13;
    if (status_now().sites_on != 1 || status_now().collectors != 1)
        return 14;
    work(times);
    spex_stop();
    struct spex_status now = status_now();
    if (tally.count != times || tally.others != 0)
        return 15;
    if (now.produced != now.consumed + now.lost || now.pending != 0)
        return 16;
    if (now.produced != times)
        return 17;
    return 0;
}

static void fork_and_check(unsigned times) {
    if (!CHILDREN_MAY_START) {
        print_message(
            "skipped: gcc's ThreadSanitizer dies when the child of a fork starts threads\n");
        return;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(child_checks(times));
    assert_int_equal(child_exit_status(child), 0);
}

TEST_WITH(a_fork_splits_off_a_clean_child, NULL, stop) {
    struct tally tally = {.probe_id = WORK};
    capture_start(tally_see, &tally);
    assert_int_equal(start("life.work"), 0);
    work(5);
    fork_and_check(7);
    work(3);
    spex_stop();
    assert_int_equal(tally.count, 8);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void gated_see(const struct spex_record *record, void *context) {
    pthread_mutex_lock(&gate);
    tally_see(record, context);
    pthread_mutex_unlock(&gate);
}

/* What waits in the parent's rings is the parent's alone. */
TEST_WITH(a_child_does_not_inherit_records, NULL, stop) {
    struct tally tally = {.probe_id = WORK};
    struct spex_options options = options_for("life.work");
    options.batch_records = 1;
    pthread_mutex_lock(&gate);
    capture_start(gated_see, &tally);
    assert_int_equal(spex_start(&options), 0);
    work(100);
    assert_true(status_now().pending >= 99);
    fork_and_check(7);
    pthread_mutex_unlock(&gate);
    spex_stop();
    assert_int_equal(tally.count, 100);
}

TEST_WITH(a_fork_of_a_stopped_program_is_clean_too, NULL, stop) {
    assert_int_equal(start("life.work"), 0);
    work(5);
    spex_stop();
    fork_and_check(4);
}

static bool recording;
static pthread_barrier_t all_recording;

static void *recorder_run(void *arg) {
    uint64_t *executed = arg;
    work(1);
    *executed = 1;
    pthread_barrier_wait(&all_recording);
    while (spex_load_relaxed(&recording)) {
        work(100);
        *executed += 100;
        sched_yield();
    }
    return NULL;
}

TEST_WITH(forks_while_threads_record, NULL, stop) {
    pthread_t threads[RECORDERS];
    uint64_t executed[RECORDERS] = {0}, sum = 0;
    struct spex_status before = status_now();
    assert_int_equal(start("life.work"), 0);
    spex_store_relaxed(&recording, true);
    pthread_barrier_init(&all_recording, NULL, RECORDERS + 1);
    for (unsigned t = 0; t < RECORDERS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, recorder_run, &executed[t]), 0);
    /* By now no thread allocates any more: AddressSanitizer's heap does not survive a fork during
     * it. */
    pthread_barrier_wait(&all_recording);
    while (status_now().consumed == before.consumed)
        sched_yield();
    for (unsigned f = 0; f < FORKS; f++)
        fork_and_check(f);
    spex_store_relaxed(&recording, false);
    for (unsigned t = 0; t < RECORDERS; t++) {
        pthread_join(threads[t], NULL);
        sum += executed[t];
    }
    spex_stop();
    struct spex_status now = status_now();
    assert_int_equal(now.produced, before.produced + sum);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_int_equal(now.pending, 0);
}

/* With SPEX_FORKS=follow. */
TEST_WITH(a_follower_collects_what_its_parent_does, NULL, stop) {
    if (!CHILDREN_MAY_START || getenv("TEST_EMULATED")) /* as above */
        return;
    setenv("SPEX_FORKS", "follow", 1);
    assert_int_equal(start("life.work"), 0);
    unsetenv("SPEX_FORKS");
    for (unsigned on = 2; on-- > 0;) {
        assert_true(spex_set(on ? "life.work" : "") >= 0);
        assert_int_equal(status_now().sites_on, on);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            _exit(status_now().collectors == on && status_now().sites_on == on ? 0 : 1);
        assert_int_equal(child_exit_status(child), 0);
    }
}

int main(void) {
    if (getenv("TEST_EMULATED"))
        puts("SKIP: of a fork's child the start: the emulator (QEMU 7.2) ends a child that starts "
             "threads");
    return tests_run(NULL, NULL);
}
