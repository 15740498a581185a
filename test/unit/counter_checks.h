/* SPDX-License-Identifier: MIT */
/* Work that makes a known number of page faults and context switches, and comparisons of counters
 * with the kernel's own figures. */
#ifndef SPEX_TEST_COUNTER_CHECKS_H
#define SPEX_TEST_COUNTER_CHECKS_H

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <spex/probe.h>

#include "../check.h"
#include "base/lock.h"
#include "counters/counters.h"
#include "counters/prepare.h"
#include "messages.h"

enum { PAGES = 20000, SWITCHES = 1000, THREADS = 1000, NOBODY = 65534 };

static const enum spex_counter first_perfcntr = SPEX_COUNTER_PERFCNTR;

/* ---- work that makes a known number of faults and switches ---- */

static inline void touch_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(madvise(memory, bytes, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < bytes; i += page)
        ((volatile char *)memory)[i] = 1;
    munmap(memory, bytes);
}

static inline void *answer(void *argument) {
    const int *pipes = argument;
    char byte;
    while (read(pipes[0], &byte, 1) == 1)
        assert_int_equal(write(pipes[3], &byte, 1), 1);
    return NULL;
}

/* A byte to another thread and back: this one waits, and so switches, nearly every time. */
static inline void switch_often(void) {
    int pipes[4];
    pthread_t other;
    assert_int_equal(pipe2(pipes, O_CLOEXEC) | pipe2(pipes + 2, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&other, NULL, answer, pipes), 0);
    for (int i = 0; i < SWITCHES; i++) {
        char byte = 0;
        assert_int_equal(write(pipes[1], &byte, 1), 1);
        assert_int_equal(read(pipes[2], &byte, 1), 1);
    }
    close(pipes[1]);
    assert_int_equal(pthread_join(other, NULL), 0);
    close(pipes[0]);
    close(pipes[2]);
    close(pipes[3]);
}

static inline uint64_t by_getrusage(enum spex_counter counter) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return counter == SPEX_COUNTER_FAULTS ? (uint64_t)(usage.ru_minflt + usage.ru_majflt)
                                          : (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static inline struct spex_reading read_now(struct spex_thread_counters *mine,
                                           enum spex_counter counter) {
    struct spex_reading reading;
    if (!spex_counter_ready(mine, counter))
        assert_true(spex_counter_open(mine, counter));
    assert_true(spex_counter_ready(mine, counter));
    assert_false(spex_counter_open(mine, counter));
    spex_counter_read(mine, counter, &reading);
    return reading;
}

static inline uint64_t delta(const struct spex_reading *begin, const struct spex_reading *end) {
    uint64_t values[2] = {0, 0};
    bool scaled = true;
    assert_true(spex_counter_delta(begin, end, values, &scaled));
    assert_false(scaled);
    return values[0];
}

static inline const char *description(enum spex_counter counter) {
    static char text[600];
    spex_counters_describe(counter, text, sizeof(text));
    return text;
}

static inline void expect_text(enum spex_counter counter, const char *part) {
    if (!strstr(description(counter), part))
        fail_msg("\"%s\" says nothing of \"%s\"", description(counter), part);
}

/* Equal to getrusage, in one of a few tries: the thread may be interrupted, or touch a page of the
 * test itself, between the reading of the one and of the other. */
static inline void expect_exact(struct spex_thread_counters *mine, enum spex_counter counter,
                                void (*work)(void), uint64_t at_least) {
    uint64_t seen = 0, made = 0;
    for (int i = 0; i < 5; i++) {
        struct spex_reading begin = read_now(mine, counter);
        uint64_t before = by_getrusage(counter);
        work();
        made = by_getrusage(counter) - before;
        struct spex_reading end = read_now(mine, counter);
        seen = delta(&begin, &end);
        if (seen == made && made >= at_least)
            return;
    }
    fail_msg("%llu counted, %llu by getrusage: %s", (unsigned long long)seen,
             (unsigned long long)made, description(counter));
}

static inline bool perf_permits(bool kernel) {
    struct perf_event_attr attr = {.size = sizeof(attr),
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .exclude_kernel = !kernel};
    long descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor >= 0)
        close((int)descriptor);
    return descriptor >= 0;
}

static inline void need_perf(bool kernel) {
    if (perf_permits(kernel))
        return;
    print_message("SKIP: perf_event_open is not permitted here\n");
    skip();
}

static inline unsigned long entries(const char *path, const char *with) {
    char line[1024];
    unsigned long count = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, with) != NULL;
    fclose(file);
    return count;
}

static inline unsigned long event_mappings(void) {
    return entries("/proc/self/maps", "[perf_event]");
}

static inline unsigned long event_descriptors(void) {
    unsigned long count = 0;
    for (int i = 0; i < 4096; i++) {
        uint64_t id;
        count += ioctl(i, PERF_EVENT_IOC_ID, &id) == 0;
    }
    return count;
}

static inline void prepare_quietly(enum spex_counter counter) {
    messages_begin();
    (void)spex_counters_prepare(counter);
    (void)messages_end();
}

static inline void open_all(struct spex_thread_counters *mine) {
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        (void)read_now(mine, counter);
}

/* Faults and switches mapped if the machine permits it, PERFCNTR 0 and 1 by read(). */
static inline void prepare_some(void) {
    messages_begin();
    assert_int_not_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS"), -EINVAL);
    assert_int_not_equal(spex_perfcntr_set_name(1, "perf::TASK-CLOCK"), -EINVAL);
    (void)messages_end();
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        prepare_quietly(counter);
}

/* ---- in a child of its own ---- */

static inline void drop_privileges(void) {
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        abort();
}

/* Runs `check` in a child: what it asserts ends the child, and so this test. */
static inline void in_child(void (*check)(void)) {
    fflush(stdout);
    spex_lock_take(spex_counters_lock());
    pid_t child = fork();
    spex_lock_give(spex_counters_lock());
    assert_true(child >= 0);
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* no other tests in the child after a failure */
        spex_counter_fallbacks_forget();
        check();
        fflush(stdout);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("the child ended with status %#x", (unsigned)status);
}

#endif
