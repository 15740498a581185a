/* SPDX-License-Identifier: MIT */
/* Samples of a made process, whose files of /proc say what this test has written there: each figure
 * is the one of its file and field, threads come and go, and what cannot be read is told. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/thread_samples.h"
#include "scratch.h"

enum { PROCESS = 1 << 30 };

/* The folder of the made process, whose number the kernel gives to none, stands for
 * /proc/1073741824. */
static int made_open(const char *path, int flags) {
    return openat(AT_FDCWD, strcmp(path, "/proc/1073741824") == 0 ? "process" : path, flags);
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...) {
    return made_open(path, flags);
}

int __wrap_open64(const char *path, int flags, ...) {
    return made_open(path, flags);
}

/* What a thread's files say. */
struct made {
    unsigned minor, major, user_ticks, system_ticks;
    unsigned long long cpu_ns, wait_ns;
    unsigned voluntary, involuntary;
    unsigned long long read, written;
};

static void thread_text(unsigned thread, const char *file, const char *text) {
    char path[64];
    snprintf(path, sizeof(path), "process/task/%u/%s", thread, file);
    scratch_text(path, text);
}

static void thread_add(unsigned thread) {
    char path[64];
    snprintf(path, sizeof(path), "process/task/%u", thread);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void thread_remove(unsigned thread) {
    char path[64];
    snprintf(path, sizeof(path), "process/task/%u", thread);
    assert_int_equal(nftw(path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The name has what fields are recognized by. */
static void thread_stat(unsigned thread, const struct made *made) {
    char text[512];
    snprintf(text, sizeof(text),
             "%u (a) R 1 2 (b) S 1 1 1 0 -1 4194304 %u 77 %u 88 %u %u 99 99 20 0 1 0 5 6 7\n",
             thread, made->minor, made->major, made->user_ticks, made->system_ticks);
    thread_text(thread, "stat", text);
}

static void thread_write(unsigned thread, const struct made *made) {
    char text[512];
    thread_stat(thread, made);
    snprintf(text, sizeof(text), "%llu %llu 12345\n", made->cpu_ns, made->wait_ns);
    thread_text(thread, "schedstat", text);
    snprintf(text, sizeof(text),
             "Name:\tvoluntary\nThreads:\t3\nvoluntary_ctxt_switches:\t%u\n"
             "nonvoluntary_ctxt_switches:\t%u\n",
             made->voluntary, made->involuntary);
    thread_text(thread, "status", text);
    snprintf(text, sizeof(text),
             "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %llu\nwrite_bytes: %llu\n"
             "cancelled_write_bytes: 9\n",
             made->read, made->written);
    thread_text(thread, "io", text);
}

/* Pages, of which the second figure is the resident ones. */
static void memory_write(unsigned pages) {
    char text[64];
    snprintf(text, sizeof(text), "100000 %u 300 20 0 40 0\n", pages);
    scratch_text("process/statm", text);
}

static struct spex_thread_samples *samples;

static int begin(void **state) {
    (void)state;
    if (mkdir("process", 0700) != 0 || mkdir("process/task", 0700) != 0)
        return -1;
    memory_write(0);
    return spex_thread_samples_open(PROCESS, &samples);
}

static int end(void **state) {
    (void)state;
    spex_thread_samples_close(samples);
    return nftw("process", scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void expect_figure(const struct spex_thread_use *use, enum spex_used what, double expected) {
    assert_true(use->known >> what & 1);
    if (fabs(use->used[what] - expected) > 1e-9 * fabs(expected))
        fail_msg("figure %d is %.17g, not %.17g", (int)what, use->used[what], expected);
}

static struct made random_made(uint64_t *random, const struct made *before) {
    return (struct made){
        .minor = before->minor + (unsigned)random_below(random, 100000),
        .major = before->major + (unsigned)random_below(random, 100000),
        .user_ticks = before->user_ticks + (unsigned)random_below(random, 100000),
        .system_ticks = before->system_ticks + (unsigned)random_below(random, 100000),
        .cpu_ns = before->cpu_ns + random_below(random, UINT64_C(1) << 40),
        .wait_ns = before->wait_ns + random_below(random, UINT64_C(1) << 40),
        .voluntary = before->voluntary + (unsigned)random_below(random, 100000),
        .involuntary = before->involuntary + (unsigned)random_below(random, 100000),
        .read = before->read + random_below(random, UINT64_C(1) << 40),
        .written = before->written + random_below(random, UINT64_C(1) << 40),
    };
}

static void expect_use(const struct spex_thread_use *use, const struct made *from,
                       const struct made *until) {
    const double ticks = (double)sysconf(_SC_CLK_TCK), seconds = use->seconds;
    assert_int_equal(use->known, (1u << SPEX_USED_COUNT) - 1);
    expect_figure(use, SPEX_USED_MINOR, (until->minor - from->minor) / seconds);
    expect_figure(use, SPEX_USED_MAJOR, (until->major - from->major) / seconds);
    /* Shares of the time of a thread: no more than all of it. */
    double cpu = fmin((double)(until->cpu_ns - from->cpu_ns) / 1e9 / seconds, 1);
    double wait = fmin((double)(until->wait_ns - from->wait_ns) / 1e9 / seconds, 1 - cpu);
    expect_figure(use, SPEX_USED_USER,
                  fmin((until->user_ticks - from->user_ticks) / ticks / seconds, 1));
    expect_figure(use, SPEX_USED_SYSTEM,
                  fmin((until->system_ticks - from->system_ticks) / ticks / seconds, 1));
    expect_figure(use, SPEX_USED_CPU, cpu);
    expect_figure(use, SPEX_USED_WAIT, wait);
    expect_figure(use, SPEX_USED_VOLUNTARY, (until->voluntary - from->voluntary) / seconds);
    expect_figure(use, SPEX_USED_INVOLUNTARY, (until->involuntary - from->involuntary) / seconds);
    expect_figure(use, SPEX_USED_READ, (double)(until->read - from->read) / seconds);
    expect_figure(use, SPEX_USED_WRITTEN, (double)(until->written - from->written) / seconds);
}

/* Any two samples of three threads, at times with gaps of any length. */
TEST_WITH(figures_are_those_of_the_files, begin, end) {
    enum { THREADS = 3, TIMES = 9 };
    static const unsigned threads[THREADS] = {4321, 4399, 99999};
    static const double times[TIMES] = {0.5, 1, 1.25, 2, 4, 8, 8.5, 16, 20};
    static struct made made[TIMES][THREADS];
    uint64_t random = 1;
    for (int t = 0; t < THREADS; t++)
        thread_add(threads[t]);
    for (int at = 0; at < TIMES; at++) {
        for (int t = 0; t < THREADS; t++) {
            made[at][t] = random_made(&random, at ? &made[at - 1][t] : &made[0][t]);
            thread_write(threads[t], &made[at][t]);
        }
        memory_write((unsigned)at * (unsigned)at * 1000);
        spex_thread_samples_take(samples, times[at]);
    }
    for (int from = 0; from < TIMES; from++)
        for (int until = from + 1; until < TIMES; until++)
            for (int t = 0; t < THREADS; t++) {
                struct spex_thread_use use =
                    spex_thread_samples_between(samples, threads[t], times[from], times[until]);
                assert_true(use.seconds == times[until] - times[from]);
                expect_use(&use, &made[from][t], &made[until][t]);
                expect_figure(&use, SPEX_USED_MEMORY,
                              (until * until - from * from) * 1000. *
                                  (double)sysconf(_SC_PAGESIZE) / use.seconds);
            }
    assert_null(spex_thread_samples_missing(samples));
}

/* Samples at each second; at second s the thread has had s² page faults, so that the mean tells
 * which two samples are meant. */
static void sample_seconds(unsigned thread, unsigned first, unsigned last) {
    for (unsigned s = first; s <= last; s++) {
        thread_stat(thread, &(struct made){.minor = s * s});
        spex_thread_samples_take(samples, s);
    }
}

static void expect_between(unsigned thread, double from, double until, unsigned begin,
                           unsigned finish) {
    struct spex_thread_use use = spex_thread_samples_between(samples, thread, from, until);
    if (use.seconds != (double)finish - begin)
        fail_msg("%g to %g: %g s", from, until, use.seconds);
    if (begin != finish)
        expect_figure(&use, SPEX_USED_MINOR, (double)begin + finish);
    else
        assert_int_equal(use.known, 0);
}

static unsigned within(double second, unsigned first, unsigned last) {
    return second < first ? first : second > last ? last : (unsigned)second;
}

/* However many samples have been taken, the last 64 are there. */
TEST_WITH(the_last_samples_stay, begin, end) {
    static const unsigned counts[] = {2, 3, 63, 64, 65, 66, 128, 129, 200};
    thread_add(7);
    for (size_t c = 0, taken = 0; c < COUNT_OF(counts); taken = counts[c++]) {
        unsigned last = counts[c], first = last > SPEX_SAMPLES ? last - SPEX_SAMPLES + 1 : 1;
        sample_seconds(7, (unsigned)taken + 1, last);
        for (double from = -1; from <= last + 1; from += 0.5)
            for (double length = 0; length < 4; length += 0.5) {
                unsigned one = within(floor(from), first, last),
                         other = within(ceil(from + length), first, last);
                expect_between(7, from, from + length, one, other);
            }
        expect_between(7, 0, 1e6, first, last);
        expect_between(7, -1e6, 0, first, first);
    }
}

/* One that has gone is forgotten, the others keep their samples; its number begins anew. */
TEST_WITH(threads_come_and_go, begin, end) {
    for (unsigned thread = 1; thread <= 4; thread++) {
        thread_add(thread);
        thread_stat(thread, &(struct made){.minor = 0});
    }
    sample_seconds(1, 1, 2);
    sample_seconds(4, 3, 5);
    sample_seconds(2, 6, 9);
    expect_between(1, 0, 2, 1, 2);
    expect_between(4, 3, 5, 3, 5);
    expect_between(2, 6, 9, 6, 9);
    thread_remove(1);
    thread_remove(3);
    sample_seconds(4, 10, 11);
    expect_between(1, 0, 11, 0, 0);
    expect_between(3, 0, 11, 0, 0);
    expect_between(2, 6, 9, 6, 9);
    expect_between(4, 3, 11, 3, 11);
    thread_add(1);
    sample_seconds(1, 12, 12);
    expect_between(1, 0, 12, 0, 0);
    sample_seconds(1, 13, 13);
    expect_between(1, 0, 12.5, 12, 13);
    spex_thread_samples_take(samples, 13); /* no time has passed */
    expect_between(1, 13, 13, 0, 0);
}

/* How many of the threads 1 to `last` have been sampled twice. */
static unsigned sampled(unsigned last) {
    unsigned count = 0;
    for (unsigned thread = 1; thread <= last; thread++)
        count += spex_thread_samples_between(samples, thread, 0, 1e6).seconds > 0;
    return count;
}

TEST_WITH(as_many_threads_as_there_is_room_for, begin, end) {
    for (unsigned thread = 1; thread <= SPEX_SAMPLED_THREADS; thread++)
        thread_add(thread);
    spex_thread_samples_take(samples, 1);
    spex_thread_samples_take(samples, 2);
    assert_int_equal(sampled(SPEX_SAMPLED_THREADS), SPEX_SAMPLED_THREADS);
    thread_add(SPEX_SAMPLED_THREADS + 1);
    spex_thread_samples_take(samples, 3);
    spex_thread_samples_take(samples, 4);
    assert_int_equal(sampled(SPEX_SAMPLED_THREADS), SPEX_SAMPLED_THREADS);
    assert_int_equal(sampled(SPEX_SAMPLED_THREADS + 1), SPEX_SAMPLED_THREADS);
    thread_remove(5);
    spex_thread_samples_take(samples, 5);
    assert_int_equal(sampled(SPEX_SAMPLED_THREADS), SPEX_SAMPLED_THREADS - 1);
    spex_thread_samples_take(samples, 6);
    spex_thread_samples_take(samples, 7);
    assert_int_equal(sampled(SPEX_SAMPLED_THREADS + 1), SPEX_SAMPLED_THREADS);
}

static const struct made steady = {.minor = 5};

/* Removes what has the figure, and says what is told of it from then on. */
static void expect_told_without(const char *file, enum spex_used what, const char *told) {
    static double now;
    char path[64];
    snprintf(path, sizeof(path), "process/%s", file);
    spex_thread_samples_take(samples, ++now);
    assert_null(spex_thread_samples_missing(samples));
    assert_int_equal(unlink(path), 0);
    spex_thread_samples_take(samples, ++now);
    spex_thread_samples_take(samples, ++now);
    /* Where one sample lacks it, or both, nothing is known. */
    for (double from = now - 2; from < now; from++) {
        struct spex_thread_use use = spex_thread_samples_between(samples, 9, from, from + 1);
        assert_true(use.seconds == 1);
        assert_false(use.known >> what & 1);
        assert_true(use.known >> SPEX_USED_MINOR & 1);
    }
    const char *missing = spex_thread_samples_missing(samples);
    assert_non_null(missing);
    assert_string_equal(missing, told);
    assert_null(spex_thread_samples_missing(samples));
}

TEST_WITH(what_cannot_be_read_is_told_once, begin, end) {
    thread_add(9);
    thread_write(9, &steady);
    expect_told_without("statm", SPEX_USED_MEMORY, "the process's memory cannot be told (statm)");
    expect_told_without("task/9/io", SPEX_USED_READ,
                        "what threads read and write may not be looked at by this user (io)");
    expect_told_without("task/9/status", SPEX_USED_INVOLUNTARY,
                        "the system does not tell of threads' switches (status)");
    expect_told_without("task/9/schedstat", SPEX_USED_CPU,
                        "the system does not tell how long threads wait for a CPU (schedstat)");
}

/* Files without what is looked for: a kernel without accounting, an ended thread, a name that the
 * line does not end. */
TEST_WITH(files_may_have_less, begin, end) {
    thread_add(9);
    thread_text(9, "stat", "9 (name");
    thread_text(9, "schedstat", "");
    thread_text(9, "status", "Name:\tvoluntary_ctxt_switches:\n");
    thread_text(9, "io", "rchar: 1\nread_bytes: 512\n");
    scratch_text("process/statm", "");
    spex_thread_samples_take(samples, 1);
    spex_thread_samples_take(samples, 2);
    struct spex_thread_use use = spex_thread_samples_between(samples, 9, 1, 2);
    assert_true(use.seconds == 1);
    assert_int_equal(use.known, 1u << SPEX_USED_READ);
    assert_null(spex_thread_samples_missing(samples)); /* a thread without a stat has ended */
}

/* The folder may go, and nothing stays open. */
TEST_WITH(a_process_ends, begin, end) {
    size_t open = open_descriptors();
    thread_add(9);
    thread_write(9, &steady);
    spex_thread_samples_take(samples, 1);
    assert_int_equal(open_descriptors(), open);
    assert_int_equal(nftw("process", scratch_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
    spex_thread_samples_take(samples, 2);
    assert_int_equal(open_descriptors(), open);
    expect_between(9, 1, 2, 0, 0);
    spex_thread_samples_close(samples);
    assert_int_equal(open_descriptors(), open - 1);
    assert_true(spex_thread_samples_open(PROCESS, &samples) < 0);
    assert_null(samples);
    scratch_text("process", "");
    assert_true(spex_thread_samples_open(PROCESS, &samples) < 0);
    assert_null(samples);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
