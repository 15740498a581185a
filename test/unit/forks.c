/* SPDX-License-Identifier: MIT */
/* New processes: the child of a fork starts clean, whatever its parent was in the midst of; vfork,
 * posix_spawn and exec leave the parent as it was. Probes of every type. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../check.h"
#include "../status.h"
#include "places.h"
#include "ring/rings.h"

enum { FORKS = 200, FORKERS = 2, RECORDERS = 2, SPAWNS = 30, DEADLOCK_SECONDS = 120 };

extern char **environ;

static char program[] = "true"; /* of the system: ends at once */
static char *const argv[] = {program, NULL};

static int wait_for(pid_t child) {
    int result;
    while (waitpid(child, &result, 0) != child)
        if (errno != EINTR)
            return -1;
    return result;
}

/* 0, or what is wrong with a child that has done nothing yet. */
static int inherited(void) {
    struct spex_status now = status_now();
    if (now.sites_on || now.collectors)
        return 10;
    if (now.produced || now.consumed || now.lost || now.pending)
        return 11;
    return now.undelivered || now.unrecorded ? 12 : 0;
}

static int child_counts_its_own(unsigned times) {
    struct places_tally tally = {0};
    int wrong = inherited();
    if (wrong)
        return wrong;
    places_all();
    if (inherited())
        return 13;
    if (places_start(&tally, 1024) != 0)
        return 14;
    for (unsigned i = 0; i < times; i++)
        places_all();
    spex_stop();
    return places_are(&tally, times) && places_accounted((uint64_t)times * PLACES_TYPES) ? 0 : 15;
}

/* Ends with the executions of places_around that it stands in still under way. */
static pid_t forked;
static struct places_tally child_tally;
static unsigned child_starts;

static void fork_inside(void) {
    fflush(NULL);
    forked = fork();
    if (forked != 0)
        return;
    if (child_starts && places_start(&child_tally, 1024) != 0)
        _exit(20);
    for (unsigned i = 0; i < child_starts; i++)
        places_all();
}

/* The program's own handlers around fork come before spex's when they were there first; and _Fork
 * calls none at all. What the kernel shows of counters is not in a child. */
static bool child_executes;

static void child_handler(void) {
    if (child_executes)
        places_all();
}

static int stop(void **state) {
    (void)state;
    return spex_stop();
}

TEST_WITH(probes_in_a_child_before_spex_knows, NULL, stop) {
    struct places_tally tally = {0};
    assert_int_equal(places_start(&tally, 1024), 0);
    places_all();
    child_executes = true;
    pid_t child = fork();
    if (child == 0) {
        places_all();
        _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* as _Fork does */
    if (child == 0) {
        places_all();
        _exit(0);
    }
    child_executes = false;
    assert_int_equal(wait_for(child), 0);
    places_all();
    spex_stop();
    assert_true(places_are(&tally, 2));
}

static void fork_within_executions(unsigned starts) {
    struct places_tally tally = {0};
    struct spex_status before = status_now();
    child_starts = starts;
    assert_int_equal(places_start(&tally, 1024), 0);
    places_around(fork_inside);
    if (forked == 0) {
        spex_stop();
        /* The snapshot is the child's own execution; the others have begun in the parent. */
        child_tally.records[3] -= starts > 0;
        child_tally.weight[3] -= starts > 0;
        _exit(places_are(&child_tally, starts) &&
                      places_accounted((uint64_t)starts * PLACES_TYPES + (starts > 0))
                  ? 0
                  : 21);
    }
    int result = wait_for(forked);
    spex_stop();
    assert_int_equal(result, 0);
    assert_true(places_are(&tally, 1));
    assert_int_equal(status_now().produced - before.produced, PLACES_TYPES);
}

TEST_WITH(an_execution_that_a_fork_splits_is_the_parents, NULL, stop) {
    fork_within_executions(0);
}

TEST_WITH(nor_is_it_the_childs_when_that_starts_itself, NULL, stop) {
    SKIP_WITHOUT_CHILDREN();
    fork_within_executions(1);
    fork_within_executions(3);
}

/* What an execution begun before a stop ends as in the next collection. */
static void stop_and_start_inside(void) {
    spex_stop();
    if (places_start(&child_tally, 1024) != 0)
        abort();
    places_all();
}

TEST_WITH(an_execution_that_a_stop_splits_is_in_no_later_collection, NULL, stop) {
    struct places_tally tally = {0};
    child_tally = (struct places_tally){0};
    assert_int_equal(places_start(&tally, 1024), 0);
    places_around(stop_and_start_inside);
    spex_stop();
    child_tally.records[3]--; /* the snapshot */
    child_tally.weight[3]--;
    assert_true(places_are(&child_tally, 1));
    assert_true(places_are(&tally, 0));
}

static bool recording;
static pthread_barrier_t all_there;

static void *recorder_run(void *arg) {
    uint64_t *executed = arg;
    places_all(); /* by now this thread allocates no more */
    *executed = 1;
    pthread_barrier_wait(&all_there);
    while (spex_load_relaxed(&recording)) {
        places_all();
        ++*executed;
        sched_yield();
    }
    return NULL;
}

static void *forker_run(void *arg) {
    uint64_t *executed = arg;
    places_all();
    *executed = 1;
    pthread_barrier_wait(&all_there);
    for (unsigned f = 0; f < FORKS / FORKERS; f++) {
        pid_t child = fork();
        if (child == 0)
            _exit(child_counts_its_own(f % 5));
        places_all();
        ++*executed;
        if (child < 0 || wait_for(child) != 0)
            return (void *)"a child has failed";
    }
    return NULL;
}

/* A dead lock ends the test by SIGALRM. Threads that fork do not wait for each other. */
TEST_WITH(forks_while_others_record_and_fork, NULL, stop) {
    pthread_t threads[FORKERS + RECORDERS];
    uint64_t executed[FORKERS + RECORDERS] = {0}, sum = 0;
    struct spex_status before = status_now();
    void *wrong = NULL;
    SKIP_WITHOUT_CHILDREN();
    assert_int_equal(places_start(NULL, 16384), 0);
    fflush(NULL);
    alarm(DEADLOCK_SECONDS);
    spex_store_relaxed(&recording, true);
    pthread_barrier_init(&all_there, NULL, FORKERS + RECORDERS);
    for (unsigned t = 0; t < FORKERS + RECORDERS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, t < FORKERS ? forker_run : recorder_run,
                                        &executed[t]),
                         0);
    for (unsigned t = 0; t < FORKERS + RECORDERS; t++) {
        void *result;
        if (t == FORKERS)
            spex_store_relaxed(&recording, false);
        pthread_join(threads[t], &result);
        wrong = wrong ? wrong : result;
        sum += executed[t];
    }
    alarm(0);
    spex_stop();
    assert_null(wrong);
    struct spex_status now = status_now();
    assert_int_equal(now.produced - before.produced, sum * PLACES_TYPES);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_int_equal(now.pending, 0);
}

/* 0, or what is wrong with a child that goes on where its parent was. */
static int child_follows(const struct spex_status *parent, unsigned times) {
    struct spex_status now = status_now();
    if (now.sites_on != parent->sites_on || now.collectors != 1)
        return 30;
    for (unsigned i = 0; i < times; i++)
        places_all();
    if (spex_start(NULL) != 0 || status_now().sites_on != parent->sites_on)
        return 31;
    if (spex_start(NULL) != -EALREADY)
        return 32;
    pid_t grandchild = fork();
    if (grandchild == 0) {
        places_all();
        spex_stop();
        _exit(places_accounted(PLACES_TYPES) && spex_stop() == 0 && spex_set("40") == -EPERM ? 0
                                                                                             : 33);
    }
    places_all();
    if (wait_for(grandchild) != 0)
        return 34;
    if (spex_set("40:cnt") <= 0)
        return 35;
    places_all();
    spex_stop();
    return places_accounted((uint64_t)(times + 1) * PLACES_TYPES + 1) ? 0 : 36;
}

/* After a stop its own start is as any other. */
static int child_stops_and_starts(void) {
    struct places_tally tally = {0};
    places_all();
    spex_stop();
    if (places_start(&tally, 1024) != 0 || spex_start(NULL) != -EALREADY)
        return 40;
    places_all();
    spex_stop();
    return places_are(&tally, 1) ? 0 : 41;
}

TEST_WITH(a_child_that_follows, NULL, stop) {
    struct places_tally tally = {0};
    SKIP_WITHOUT_FOLLOWERS();
    setenv("SPEX_FORKS", "follow", 1);
    int err = places_start(&tally, 1024);
    setenv("SPEX_FORKS", "", 1);
    assert_int_equal(err, 0);
    places_all();
    struct spex_status parent = status_now();
    fflush(NULL);
    for (unsigned times = 0; times < 3; times++) {
        pid_t child = fork();
        if (child == 0)
            _exit(child_follows(&parent, times));
        places_all();
        assert_int_equal(wait_for(child), 0);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(child_stops_and_starts());
    assert_int_equal(wait_for(child), 0);
    spex_stop();
    assert_true(places_are(&tally, 4));
    child = fork();
    if (child == 0)
        _exit(status_now().collectors != 0 || spex_set("40") != -EPERM);
    assert_int_equal(wait_for(child), 0);
}

static void *spawner_run(void *arg) {
    (void)arg;
    for (unsigned s = 0; s < SPAWNS; s++) {
        places_all();
        pid_t child = vfork();
        if (child == 0) {
            execvp(program, argv);
            _exit(1);
        }
        places_all();
        if (child < 0 || wait_for(child) != 0)
            return (void *)"vfork and exec";
        if (posix_spawnp(&child, program, NULL, NULL, argv, environ) != 0 || wait_for(child) != 0)
            return (void *)"posix_spawn";
    }
    return NULL;
}

/* An exec that fails, too, leaves everything as it was. */
static void exec_inside(void) {
    static char *const none[] = {NULL};
    fflush(NULL);
    if (execve("/nonexistent", none, environ) == 0)
        abort();
    forked = fork();
    if (forked == 0) {
        struct places_tally tally = {0};
        if (places_start(&tally, 1024) != 0)
            _exit(1);
        places_all();
        execvp(program, argv);
        _exit(2);
    }
}

TEST_WITH(vfork_spawn_and_exec_leave_the_parent_alone, NULL, stop) {
    struct places_tally tally = {0};
    pthread_t thread;
    void *wrong;
    SKIP_WITHOUT_CHILDREN();
    struct spex_status before = status_now();
    assert_int_equal(places_start(&tally, 16384), 0);
    assert_int_equal(pthread_create(&thread, NULL, spawner_run, NULL), 0);
    places_around(exec_inside);
    int result = wait_for(forked);
    for (unsigned i = 0; i < 100; i++)
        places_all();
    pthread_join(thread, &wrong);
    spex_stop();
    assert_null(wrong);
    assert_int_equal(result, 0);
    assert_true(places_are(&tally, 2 * SPAWNS + 101));
    assert_int_equal(status_now().produced - before.produced, (2 * SPAWNS + 101) * PLACES_TYPES);
}

/* The file of the rings is the process's until its end. */
static int rings_end(void **state) {
    (void)state;
    spex_rings_end();
    return 0;
}

/* With an argument the rings are in a file, as under `spex run`. */
int main(int argc, char **arguments) {
    (void)arguments;
    if (argc > 1 && getenv("TEST_EMULATED")) {
        printf("SKIP: the emulator clears no page in a child\n");
        return 77;
    }
    if (argc > 1)
        spex_rings_share();
    if (pthread_atfork(NULL, NULL, child_handler) != 0)
        return 1;
    return tests_run(NULL, rings_end);
}
