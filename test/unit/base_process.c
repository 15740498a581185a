/* SPDX-License-Identifier: MIT */
/* What the base knows of the process and the machine: CPUs, temporary directories, threads of its
 * own, clocks; and random numbers against another calculation of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "../check.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/deadline.h"
#include "base/private_directory.h"
#include "base/random.h"
#include "base/service_thread.h"

/* The number that the next descriptor gets. */
static int next_descriptor(void) {
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

TEST(possible_cpus) {
    char list[4096] = "";
    unsigned last = 0;
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    if (!file || !fgets(list, sizeof(list), file))
        skip();
    fclose(file);
    for (char *rest, *range = strtok_r(list, ",\n", &rest); range;
         range = strtok_r(NULL, ",\n", &rest)) {
        const char *dash = strchr(range, '-');
        last = (unsigned)strtoul(dash ? dash + 1 : range, NULL, 10);
    }
    int before = next_descriptor();
    assert_int_equal(spex_cpus_possible(), last + 1);
    assert_int_equal(next_descriptor(), before);
}

/* ---- temporary directories ---- */

static void expect_directory(const char *begins) {
    char path[SPEX_PRIVATE_DIRECTORY_BYTES];
    struct spex_error error = {"none"};
    struct stat status;
    assert_int_equal(spex_private_directory("name", path, &error), 0);
    assert_string_equal(error.text, "none");
    assert_int_equal(strncmp(path, begins, strlen(begins)), 0);
    assert_int_equal(strlen(path), strlen(begins) + 6);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0700);
    assert_int_equal(status.st_uid, geteuid());
    assert_int_equal(rmdir(path), 0);
}

TEST(directories_are_private) {
    char parent[] = "/tmp/spex-base-XXXXXX", link[64], begins[128];
    char path[SPEX_PRIVATE_DIRECTORY_BYTES], long_name[SPEX_PRIVATE_DIRECTORY_BYTES];
    struct spex_error error = {""};
    assert_non_null(mkdtemp(parent));
    snprintf(begins, sizeof(begins), "%s/spex-name-", parent);
    snprintf(link, sizeof(link), "%s/link", parent);
    assert_int_equal(symlink(parent, link), 0);
    setenv("TMPDIR", parent, 1);
    expect_directory(begins);
    setenv("TMPDIR", link, 1); /* what it leads to */
    expect_directory(begins);
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(spex_private_directory(long_name, path, &error), -ENAMETOOLONG);
    assert_string_equal(path, "");
    assert_int_equal(strncmp(error.text, "cannot make a directory ", 24), 0);
    assert_int_equal(spex_private_directory("absent/name", path, &error), -ENOENT);
    assert_string_equal(path, "");
    assert_non_null(strstr(error.text, strerror(ENOENT)));
    assert_int_equal(unlink(link) | rmdir(parent), 0);
    setenv("TMPDIR", "", 1);
    expect_directory("/tmp/spex-name-");
    unsetenv("TMPDIR");
    expect_directory("/tmp/spex-name-");
}

/* ---- random numbers ---- */

/* SplitMix64 and xoroshiro128++, as their authors write them. */
static uint64_t splitmix(uint64_t *x) {
    uint64_t z = (*x += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static uint64_t xoroshiro(uint64_t s[2]) {
    uint64_t s0 = s[0], s1 = s[1], result = rotl(s0 + s1, 17) + s0;
    s1 ^= s0;
    s[0] = rotl(s0, 49) ^ s1 ^ (s1 << 21);
    s[1] = rotl(s1, 28);
    return result;
}

TEST(random_numbers) {
    for (uint64_t seed = 0; seed < 20; seed++)
        for (uint64_t stream = 0; stream < 20; stream++) {
            struct spex_random random;
            uint64_t x = seed, counter = splitmix(&x) + stream, s[2];
            s[0] = splitmix(&counter);
            s[1] = splitmix(&counter);
            spex_random_seed(&random, seed, stream);
            for (unsigned n = 0; n < 20; n++)
                assert_int_equal(spex_random_next(&random), xoroshiro(s));
        }
}

/* ---- threads ---- */

struct told {
    char name[16];
    sigset_t blocked;
    int32_t go_on;
};

static void *tell(void *argument) {
    struct told *told = argument;
    prctl(PR_GET_NAME, told->name);
    pthread_sigmask(SIG_BLOCK, NULL, &told->blocked);
    while (!spex_load_acquire(&told->go_on))
        spex_futex_wait(&told->go_on, 0, NULL);
    return told;
}

/* More threads than can be starting at a time, after as many that cannot start. */
TEST(threads_have_a_name_and_no_signals) {
    enum { MANY = 80 };
    static struct told told[MANY];
    pthread_t threads[MANY];
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    for (unsigned t = 0; t < MANY; t++)
        assert_int_equal(
            spex_service_thread_start(&threads[t], "none", (size_t)1 << 50, tell, &told[t]),
            -EAGAIN);
    for (unsigned t = 0; t < MANY; t++) {
        /* A stack that is too small for the system is of the usual size. */
        size_t stack = t % 3 == 0 ? 0 : t % 3 == 1 ? 1 : 65536;
        assert_int_equal(spex_service_thread_start(&threads[t], "spex-test", stack, tell, &told[t]),
                         0);
        spex_service_threads_await(&(struct spex_patience){INT64_MAX, UINT64_MAX});
    }
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (unsigned t = 0; t < MANY; t++) {
        void *result;
        spex_store_release(&told[t].go_on, 1);
        spex_futex_wake(&told[t].go_on, 1);
        assert_int_equal(pthread_join(threads[t], &result), 0);
        assert_ptr_equal(result, &told[t]);
        assert_string_equal(told[t].name, "spex-test");
        assert_int_equal(sigismember(&told[t].blocked, SIGTERM), 1);
        assert_int_equal(sigismember(&told[t].blocked, SIGUSR2), 1);
    }
    for (int number = 1; number < SIGRTMAX; number++)
        assert_int_equal(sigismember(&after, number), sigismember(&before, number));
}

/* Of what a thread has taken, since it last said so. */
TEST(cpu_time_is_noted_once) {
    uint64_t before = spex_service_cpu_ns(), since = 0;
    spex_service_cpu_note(&since);
    assert_int_equal(spex_service_cpu_ns() - before, since);
    uint64_t now = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    assert_true(since > 0 && since <= now);
    for (unsigned i = 0; i < 5; i++)
        spex_service_cpu_note(&since);
    assert_int_equal(spex_service_cpu_ns() - before, since);
}

/* ---- clocks ---- */

TEST(rates_of_ticks) {
    static const struct {
        struct spex_instant from, to;
        double rate;
    } cases[] = {
        {{1000, 1000000, 10}, {3001000, 2000000, 10}, 3e9},
        {{1000, 1000000, 300}, {3001000, 2000000, 300}, 3e9},
        /* An error of more than 1 in 10,000, unless 5 ms have passed. */
        {{1000, 1000000, 300}, {3001000, 2000000, 302}, 0},
        {{1000, 1000000, 302}, {3001000, 2000000, 300}, 0},
        {{1000, 1000000, 90000}, {15001000, 6000000, 90000}, 3e9},
        {{1000, 1000000, 90000}, {15001000, 5999999, 90000}, 0},
        {{1000, 1000000, 0}, {3001000, 1000000, 0}, 0},
        {{1000, 1000001, 0}, {3001000, 1000000, 0}, 0},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        assert_true(spex_tick_rate(cases[c].from, cases[c].to) == cases[c].rate);
    struct spex_instant begin = spex_instant_now();
    double rate = spex_tick_rate_since(begin);
    struct spex_instant end = spex_instant_now();
    assert_true(end.ticks > begin.ticks && end.monotonic_ns > begin.monotonic_ns);
    assert_true(rate > 0);
}

TEST(times_of_clocks) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ns = spex_clock_ns(CLOCK_REALTIME);
    double seconds = spex_clock_seconds(CLOCK_REALTIME);
    assert_true(ns >= (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    assert_true(seconds >= (double)ns / 1e9 - 1e-6);
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(ns <= (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    assert_true(seconds <= (double)now.tv_sec + (double)now.tv_nsec / 1e9 + 1e-6);
}

/* Of what is left, a part, and at least the shortest wait. */
TEST(shares_of_a_deadline) {
    struct spex_deadline far = spex_deadline_in(100000), past = spex_deadline_in(-1);
    assert_in_range(spex_deadline_share_ms(far, 4), 20000000, 25000000);
    assert_in_range(spex_deadline_share_ms(far, 1), 80000000, 100000000);
    assert_int_equal(spex_deadline_share_ms(far, INT32_MAX), 1);
    assert_int_equal(spex_deadline_share_ms(past, 2), 1);
}
