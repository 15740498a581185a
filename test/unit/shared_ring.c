/* SPDX-License-Identifier: MIT */
/* Where a record does not go into a ring of its CPU: CPUs beyond the rings, threads that have no
 * restartable sequences, processes that have none.
 *
 * The last test starts this program again with an argument, and a C library told to register
 * nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../check.h"
#include "../status.h"
#include "places.h"
#include "queues/commit_rseq.h"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#else
#define HAVE_RSEQ 0
#endif

enum { THREADS = 4, EXECUTIONS = 2000, CPUS_MAX = 1024 };

static const char *program;

struct seen {
    struct places_tally tally;
    uint64_t by_cpu[CPUS_MAX];
};

static void see(const struct spex_record *record, void *context) {
    struct seen *seen = context;
    places_see(record, &seen->tally);
    seen->by_cpu[record->cpu_id % CPUS_MAX]++;
}

/* With rings for CPU 0 alone. */
static int start(struct seen *seen, const char *commit, unsigned ring_cpus) {
    const struct spex_options options = {
        .size = sizeof(options),
        .probes = "40",
        .out = "/dev/null",
        .ring_records = 1u << 17,
        .ring_cpus = ring_cpus,
        .commit = commit,
        .no_calibration = true,
    };
    if (seen)
        capture_start(see, seen);
    messages_begin();
    int err = spex_start(&options);
    messages_end();
    return err;
}

static bool pin(unsigned cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

struct pinned {
    unsigned cpu;
    bool without_rseq;
    bool right;
};

/* As glibc has registered it; from then on the kernel does not restart this thread. */
static bool unregister(void) {
#if HAVE_RSEQ
    char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
    /* The size that was registered: 32, or what the kernel supports where that is more. */
    for (unsigned size = 32; size <= 256; size += 4)
        if (syscall(SYS_rseq, area, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0)
            return true;
#endif
    return false;
}

static void *pinned_run(void *arg) {
    struct pinned *self = arg;
    self->right = pin(self->cpu) && (!self->without_rseq || unregister());
    for (unsigned e = 0; e < EXECUTIONS; e++)
        places_all();
    return NULL;
}

static bool two_cpus(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_ISSET(0, &allowed) &&
           CPU_ISSET(1, &allowed);
}

/* Threads on CPUs 0 and 1 in turn; those whose number is in the mask without restartable
 * sequences. */
static void threads_on_two_cpus(const char *commit, unsigned ring_cpus, unsigned without_rseq) {
    static struct seen seen;
    pthread_t threads[THREADS];
    struct pinned pinned[THREADS];
    struct spex_status before = status_now();
    if (!two_cpus()) {
        print_message("skipped: this test needs CPUs 0 and 1\n");
        skip();
    }
    seen = (struct seen){0};
    assert_int_equal(start(&seen, commit, ring_cpus), 0);
    for (unsigned t = 0; t < THREADS; t++) {
        pinned[t] = (struct pinned){.cpu = t % 2, .without_rseq = without_rseq & 1u << t};
        assert_int_equal(pthread_create(&threads[t], NULL, pinned_run, &pinned[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_true(pinned[t].right);
    }
    spex_stop();
    const uint64_t each = THREADS * EXECUTIONS, all = each * PLACES_TYPES;
    struct spex_status now = status_now();
    assert_true(places_are(&seen.tally, each));
    assert_int_equal(seen.by_cpu[0], all / 2);
    assert_int_equal(seen.by_cpu[1], all / 2);
    assert_int_equal(now.produced - before.produced, all);
    assert_int_equal(now.consumed - before.consumed, all);
    assert_int_equal(now.lost + now.pending + now.unrecorded, 0);
}

/* Rings are mapped once a process: each case has one of its own. */
static void in_a_process(void (*run)(void)) {
    int result;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static void beyond_rseq(void) {
    threads_on_two_cpus("rseq", 1, 0);
}

static void beyond_atomic(void) {
    threads_on_two_cpus("atomic", 1, 0);
}

static void some_without_rseq(void) {
    threads_on_two_cpus("rseq", 0, 6);
}

static void some_without_rseq_beyond(void) {
    threads_on_two_cpus("rseq", 1, 5);
}

static void skip_without_rseq(void) {
    if (!spex_rseq_available()) {
        print_message("SKIP: this process has no restartable sequences\n");
        skip();
    }
}

TEST(cpus_beyond_the_rings_share_one) {
    SKIP_WITHOUT_CHILDREN();
    in_a_process(beyond_atomic);
    skip_without_rseq();
    in_a_process(beyond_rseq);
}

TEST(threads_without_rseq_share_one) {
    SKIP_WITHOUT_CHILDREN();
    skip_without_rseq();
    in_a_process(some_without_rseq);
    in_a_process(some_without_rseq_beyond);
}

/* In a process without restartable sequences: 0, or what is wrong. */
static int without_rseq(void) {
    static struct seen seen;
    const struct spex_options rseq = {
        .size = sizeof(rseq), .probes = "40", .out = "/dev/null", .commit = "rseq"};
    messages_begin();
    int err = spex_start(&rseq);
    const char *text = messages_end();
    if (err != -EINVAL ||
        strcmp(text, "spex: SPEX_COMMIT=rseq: this process has no restartable sequences\n") != 0) {
        printf("%d: %s", err, text);
        return 1;
    }
    places_all();
    if (status_now().produced != 0 || start(&seen, NULL, 0) != 0)
        return 2;
    for (unsigned e = 0; e < EXECUTIONS; e++)
        places_all();
    spex_stop();
    return places_are(&seen.tally, EXECUTIONS) && places_accounted(EXECUTIONS * PLACES_TYPES) ? 0
                                                                                              : 3;
}

TEST(a_process_without_rseq_commits_with_atomic_instructions) {
    int result;
    SKIP_WITHOUT_CHILDREN(); /* an emulator's cannot be executed either */
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
        unsetenv("SPEX_COMMIT");
        execl(program, program, "without rseq", (char *)NULL);
        _exit(4);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc > 1)
        return without_rseq();
    return tests_run(NULL, NULL);
}
