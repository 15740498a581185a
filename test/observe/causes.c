/* SPDX-License-Identifier: MIT */
/* What a thread used is sampled as the kernel counts it, and named as the cause of an anomaly. */
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "../check.h"
#include "../children.h"
#include "observe/causes.h"

#define ALL ((1u << SPEX_USED_COUNT) - 1)

/* ---- causes ---- */

static struct spex_cause_found cause_of(enum spex_used what, double before, double during) {
    struct spex_thread_use first = {.seconds = 1, .known = ALL}, then = first;
    first.used[what] = before;
    then.used[what] = during;
    return spex_cause_of(&first, &then, 1e9);
}

/* The least change of each figure is one, and what is a little less is none. */
TEST(each_figure_has_a_least_change) {
    static const struct {
        enum spex_used what;
        double before, during, less;
        enum spex_cause cause;
        const char *text;
    } cases[] = {
        {SPEX_USED_WAIT, 0, 0.05, 0.049, SPEX_CAUSE_CPU_TAKEN, "waiting for a CPU 0 % → 5 %"},
        {SPEX_USED_INVOLUNTARY, 20, 40, 39.9, SPEX_CAUSE_CPU_TAKEN,
         "involuntary switches 20/s → 40/s"},
        {SPEX_USED_INVOLUNTARY, 0, 20, 19.9, SPEX_CAUSE_CPU_TAKEN,
         "involuntary switches 0/s → 20/s"},
        {SPEX_USED_MAJOR, 0, 2, 1.9, SPEX_CAUSE_PAGES_READ, "major faults 0/s → 2/s"},
        {SPEX_USED_CPU, 0.05, 0, 0.001, SPEX_CAUSE_BLOCKED, "on the CPU 5 % → 0 %"},
        {SPEX_USED_VOLUNTARY, 1, 4, 3.9, SPEX_CAUSE_BLOCKED, "voluntary switches 1/s → 4/s"},
        {SPEX_USED_MINOR, 0, 200, 199, SPEX_CAUSE_MEMORY, "minor faults 0/s → 200/s"},
        {SPEX_USED_MEMORY, 0, 1 << 20, (1 << 20) - 1, SPEX_CAUSE_MEMORY,
         "memory grows by 0 B/s → 1.0 MB/s"},
        {SPEX_USED_CPU, 0, 0.05, 0.049, SPEX_CAUSE_COMPUTES, "on the CPU 0 % → 5 %"},
        {SPEX_USED_READ, 0, 65536, 65535, SPEX_CAUSE_NONE, "read 0 B/s → 65536 B/s"},
        {SPEX_USED_WRITTEN, 0, 65536, 65535, SPEX_CAUSE_NONE, "written 0 B/s → 65536 B/s"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char text[256];
        struct spex_cause_found found = cause_of(cases[c].what, cases[c].before, cases[c].during);
        assert_int_equal(found.changed, 1u << cases[c].what);
        assert_int_equal(found.cause, cases[c].cause);
        spex_cause_changes(&found, text, sizeof(text));
        assert_string_equal(text, cases[c].text);
        assert_memory_equal(text, spex_used_text(cases[c].what),
                            strlen(spex_used_text(cases[c].what)));
        found = cause_of(cases[c].what, cases[c].before, cases[c].less);
        assert_int_equal(found.changed, 0);
        spex_cause_changes(&found, text, sizeof(text));
        assert_string_equal(text, "");
    }
}

/* What falls is no cause, but for the CPU; ticks of the clock are none. */
TEST(what_is_no_cause) {
    static const enum spex_used falls[] = {SPEX_USED_WAIT, SPEX_USED_INVOLUNTARY, SPEX_USED_MAJOR,
                                           SPEX_USED_VOLUNTARY, SPEX_USED_MINOR};
    for (size_t f = 0; f < COUNT_OF(falls); f++) {
        struct spex_cause_found found = cause_of(falls[f], 1000, 10);
        assert_int_equal(found.changed, 1u << falls[f]);
        assert_int_equal(found.cause, SPEX_CAUSE_NONE);
    }
    assert_int_equal(cause_of(SPEX_USED_USER, 0, 1).changed, 0);
    assert_int_equal(cause_of(SPEX_USED_SYSTEM, 0, 1).changed, 0);
    assert_int_equal(cause_of(SPEX_USED_CPU, 0.5, 0.5).cause, SPEX_CAUSE_COMPUTES);
    assert_int_equal(cause_of(SPEX_USED_CPU, 0.49, 0.49).cause, SPEX_CAUSE_NONE);
    struct spex_thread_use none = {.seconds = 0}, some = {.seconds = 1};
    assert_int_equal(spex_cause_of(&none, &some, 1e9).cause, SPEX_CAUSE_UNKNOWN);
    assert_int_equal(spex_cause_of(&some, &none, 1e9).cause, SPEX_CAUSE_UNKNOWN);
    /* A figure that is known of one time alone. */
    struct spex_thread_use all = {.seconds = 1, .known = ALL, .used = {[SPEX_USED_MAJOR] = 100}};
    assert_int_equal(spex_cause_of(&some, &all, 1e9).changed, 0);
}

/* The more specific one: a thread that waits for a page is less on the CPU, too. */
TEST(of_several_causes_one_is_told) {
    static const enum spex_used order[] = {SPEX_USED_WAIT, SPEX_USED_MAJOR, SPEX_USED_VOLUNTARY,
                                           SPEX_USED_MINOR};
    static const enum spex_cause causes[] = {SPEX_CAUSE_CPU_TAKEN, SPEX_CAUSE_PAGES_READ,
                                             SPEX_CAUSE_BLOCKED, SPEX_CAUSE_MEMORY};
    for (size_t first = 0; first < COUNT_OF(order); first++) {
        struct spex_thread_use before = {.seconds = 1, .known = ALL}, during = before;
        during.used[SPEX_USED_CPU] = 1;
        for (size_t o = first; o < COUNT_OF(order); o++)
            during.used[order[o]] = 1000;
        struct spex_cause_found found = spex_cause_of(&before, &during, 1e9);
        assert_int_equal(found.cause, causes[first]);
        assert_true(strlen(spex_cause_text(found.cause)) > 10);
        char text[40];
        spex_cause_changes(&found, text, sizeof(text));
        assert_memory_equal(text, "on the CPU 0 % → 100 %, ", strlen("on the CPU 0 % → 100 %, "));
        assert_int_equal(strlen(text), sizeof(text) - 1); /* cut */
    }
}

static enum spex_cause cause_of_shares(double cpu, double wait, double involuntary,
                                       double voluntary) {
    const struct spex_thread_use before = {
        .seconds = 1, .known = ALL, .used = {[SPEX_USED_CPU] = 0.9, [SPEX_USED_WAIT] = 0.1}};
    struct spex_thread_use during = before;
    during.used[SPEX_USED_CPU] = cpu;
    during.used[SPEX_USED_WAIT] = wait;
    during.used[SPEX_USED_INVOLUNTARY] = involuntary;
    during.used[SPEX_USED_VOLUNTARY] = voluntary;
    return spex_cause_of(&before, &during, 1e9).cause;
}

/* A thread that waits for a disk while other programs run, too. */
TEST(the_greater_part_of_the_time_tells) {
    assert_int_equal(cause_of_shares(0.06, 0.49, 0, 1), SPEX_CAUSE_BLOCKED);
    assert_int_equal(cause_of_shares(0.06, 0.53, 0, 1), SPEX_CAUSE_CPU_TAKEN);
    assert_int_equal(cause_of_shares(0.3, 0.1, 1000, 1), SPEX_CAUSE_BLOCKED);
    assert_int_equal(cause_of_shares(0.3, 0.7, 1000, 1), SPEX_CAUSE_CPU_TAKEN);
    assert_int_equal(cause_of_shares(0.9, 0.1, 1000, 1), SPEX_CAUSE_CPU_TAKEN);
}

/* A wait for a CPU that is not over yet is not in the kernel's figure. A thread that has run has
 * waited for nothing else unless it gave up the CPU; one that has not run may have waited for
 * anything. */
TEST(a_wait_that_is_not_over) {
    assert_int_equal(cause_of_shares(0.06, 0.1, 0, 0), SPEX_CAUSE_CPU_TAKEN);
    assert_int_equal(cause_of_shares(0.06, 0.49, 200, 0), SPEX_CAUSE_CPU_TAKEN);
    assert_int_equal(cause_of_shares(0.06, 0.1, 0, 1), SPEX_CAUSE_BLOCKED);
    assert_int_equal(cause_of_shares(0, 0.1, 0, 0), SPEX_CAUSE_BLOCKED);
}

/* 40 ms within 0.2 s in which the thread did other things, too: their switches are not its own, and
 * one cause is told if the thread had the time for no other one. */
TEST(a_short_anomaly_has_no_rates) {
    static const struct {
        double cpu, wait, voluntary;
        enum spex_cause cause;
    } cases[] = {
        {0.95, 0.05, 500, SPEX_CAUSE_COMPUTES}, {0.05, 0.9, 500, SPEX_CAUSE_CPU_TAKEN},
        {0.05, 0.05, 500, SPEX_CAUSE_BLOCKED},  {0.5, 0.05, 500, SPEX_CAUSE_SHORT},
        {0.05, 0.3, 500, SPEX_CAUSE_SHORT},     {0.3, 0.6, 500, SPEX_CAUSE_SHORT},
        {0.05, 0.05, 0, SPEX_CAUSE_CPU_TAKEN}, /* a wait that is not over */
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct spex_thread_use before = {
            .seconds = 10, .known = ALL, .used = {[SPEX_USED_CPU] = 0.1}};
        struct spex_thread_use during = {.seconds = 0.2,
                                         .known = ALL,
                                         .used = {[SPEX_USED_CPU] = cases[c].cpu,
                                                  [SPEX_USED_WAIT] = cases[c].wait,
                                                  [SPEX_USED_VOLUNTARY] = cases[c].voluntary,
                                                  [SPEX_USED_INVOLUNTARY] = 5000}};
        struct spex_cause_found found = spex_cause_of(&before, &during, 0.04);
        assert_int_equal(found.cause, cases[c].cause);
        assert_int_equal(found.changed, 0);
        during.known &= ~(1u << SPEX_USED_WAIT);
        assert_int_equal(spex_cause_of(&before, &during, 0.04).cause, SPEX_CAUSE_SHORT);
    }
}

/* ---- samples ---- */

enum { PAGES = 500, WAITS = 50 };

static struct {
    pthread_barrier_t step;
    pid_t number;
    struct rusage before, after;
} worker;

static void *work(void *unused) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    worker.number = gettid();
    getrusage(RUSAGE_THREAD, &worker.before);
    pthread_barrier_wait(&worker.step); /* the first sample is taken */
    pthread_barrier_wait(&worker.step);
    char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t p = 0; p < PAGES; p++)
        ((volatile char *)memory)[p * page] = 1;
    for (int w = 0; w < WAITS; w++)
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    getrusage(RUSAGE_THREAD, &worker.after);
    pthread_barrier_wait(&worker.step); /* the second */
    pthread_barrier_wait(&worker.step);
    munmap(memory, PAGES * page);
    return unused;
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* By a clock of the caller's, in which two seconds pass. */
TEST(a_thread_has_used_what_the_kernel_says) {
    struct spex_thread_samples *samples;
    pthread_t thread;
    pthread_barrier_init(&worker.step, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    assert_int_equal(spex_thread_samples_open(getpid(), &samples), 0);
    pthread_barrier_wait(&worker.step);
    spex_thread_samples_take(samples, 10);
    pthread_barrier_wait(&worker.step);
    /* A child's faults, which stand beside the thread's own, are not the thread's. */
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(child_exit_status(child), 0);
    pthread_barrier_wait(&worker.step);
    spex_thread_samples_take(samples, 12);
    struct spex_thread_use use =
        spex_thread_samples_between(samples, (uint32_t)worker.number, 10, 12);
    pthread_barrier_wait(&worker.step);
    pthread_join(thread, NULL);
    assert_true(use.seconds == 2);
    double faults = (double)(worker.after.ru_minflt - worker.before.ru_minflt) / 2;
    double waits = (double)(worker.after.ru_nvcsw - worker.before.ru_nvcsw) / 2;
    assert_true(use.known >> SPEX_USED_MINOR & 1);
    assert_true(faults >= PAGES / 2. && fabs(use.used[SPEX_USED_MINOR] - faults) < 10);
    assert_true(use.known >> SPEX_USED_MAJOR & 1);
    double read = (double)(worker.after.ru_majflt - worker.before.ru_majflt) / 2;
    assert_true(fabs(use.used[SPEX_USED_MAJOR] - read) < 5);
    assert_true(use.known >> SPEX_USED_VOLUNTARY & 1);
    assert_true(fabs(use.used[SPEX_USED_VOLUNTARY] - waits) < 10);
    assert_true(use.used[SPEX_USED_MEMORY] >= PAGES / 4. * (double)sysconf(_SC_PAGESIZE));
    double user = seconds_of(&worker.after.ru_utime) + seconds_of(&worker.after.ru_stime);
    double ticks = use.used[SPEX_USED_USER] + use.used[SPEX_USED_SYSTEM];
    assert_true(ticks >= 0 && ticks <= user / 2 + 0.02);
    if (use.known >> SPEX_USED_CPU & 1)
        assert_true(use.used[SPEX_USED_CPU] > 0 && use.used[SPEX_USED_CPU] <= user / 2 + 0.02);
    /* A thread that has ended is forgotten. */
    spex_thread_samples_take(samples, 13);
    assert_true(spex_thread_samples_between(samples, (uint32_t)worker.number, 10, 13).seconds == 0);
    spex_thread_samples_close(samples);
}

/* 64 samples stay: of 70 at each second, the seventh is the oldest. */
TEST(samples_around_an_interval) {
    static const struct {
        double from, until, seconds;
    } cases[] = {
        {20, 30, 10}, {20.5, 29.5, 10}, {20.5, 30.5, 11}, {0, 100, 63}, {1, 8, 1},
        {69, 100, 1}, {80, 90, 0},      {7, 7, 0},        {0, 7.5, 1},
    };
    struct spex_thread_samples *samples;
    assert_int_equal(spex_thread_samples_open(getpid(), &samples), 0);
    uint32_t own = (uint32_t)gettid();
    spex_thread_samples_take(samples, 1);
    assert_true(spex_thread_samples_between(samples, own, 0, 2).seconds == 0);
    for (int s = 2; s <= 70; s++)
        spex_thread_samples_take(samples, s);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        double seconds =
            spex_thread_samples_between(samples, own, cases[c].from, cases[c].until).seconds;
        if (seconds != cases[c].seconds)
            fail_msg("%g to %g: %g", cases[c].from, cases[c].until, seconds);
    }
    assert_true(spex_thread_samples_between(samples, 1u << 30, 20, 30).seconds == 0);
    /* What cannot be read here is told once each. */
    int told = 0;
    while (spex_thread_samples_missing(samples))
        assert_true(++told <= 4);
    spex_thread_samples_close(samples);
    spex_thread_samples_close(NULL);
    assert_true(spex_thread_samples_open(1 << 30, &samples) < 0);
    assert_null(samples);
}
