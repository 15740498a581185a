/* SPDX-License-Identifier: MIT */
/* Start, select, stop, and start again; options and variables that are refused. The first test
 * needs a process in which spex has never collected. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "../status.h"
#include "life.h"
#include "messages.h"
#include "site/registry.h"

TEST_WITH(without_a_selection_nothing_starts, NULL, stop) {
    unsigned threads = thread_count(NULL);
    assert_int_equal(spex_start(NULL), 0);
    assert_int_equal(thread_count(NULL), threads);
    work(10);
    struct spex_status now = status_now();
    assert_int_equal(now.collectors, 0);
    assert_int_equal(now.sites_on, 0);
    assert_int_equal(now.produced, 0);
    assert_int_equal(now.ring_bytes, 0);
    assert_true(now.sites > 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(thread_count(NULL), threads);
}

static size_t address_space(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A thread that allocates from the heap would have 64 MiB reserved by glibc. */
TEST_WITH(collecting_takes_little_address_space_beside_the_rings, NULL, stop) {
#ifdef __SANITIZE_THREAD__
    print_message("SKIP: the address space is the sanitizer's\n");
    skip();
#endif
    if (getenv("TEST_EMULATED")) {
        print_message("SKIP: the address space is the emulator's\n");
        skip();
    }
    size_t before = address_space();
    assert_int_equal(start("*"), 0);
    work(10);
    spex_stop();
    assert_in_range(address_space() - before, 1, status_now().ring_bytes + (40 << 20));
}

/* Errors are returned; who checks errno after a call of their own is not misled. */
TEST_WITH(errno_stays_as_it_was, NULL, stop) {
    errno = EDOM;
    assert_int_equal(spex_start(NULL), 0);
    assert_int_equal(errno, EDOM);
    assert_true(spex_set("*") > 0);
    assert_int_equal(errno, EDOM);
    work(10);
    assert_int_equal(errno, EDOM);
    assert_int_equal(spex_set("*@x"), -EINVAL);
    assert_int_equal(errno, EDOM);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(errno, EDOM);
}

TEST_WITH(a_selection_can_come_later, NULL, stop) {
    assert_int_equal(start(NULL), 0);
    assert_int_equal(thread_count("spex-collector"), 0);
    assert_int_equal(spex_set("life.work"), 1);
    assert_int_equal(thread_count("spex-collector"), 1);
    struct spex_status before = status_now();
    assert_int_equal(before.collectors, 1);
    assert_int_equal(before.sites_on, 1);
    assert_true(before.ring_bytes > 0);
    work(10);
    assert_int_equal(spex_set(""), 0);
    work(10);
    assert_int_equal(spex_set("1"), 1);
    work(10);
    assert_int_equal(spex_set(NULL), 0);
    work(10);
    assert_int_equal(status_now().collectors, 1);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(status_now().collectors, 0);
    assert_int_equal(status_now().produced, before.produced + 20);
}

TEST_WITH(it_starts_once, NULL, stop) {
    assert_int_equal(start("life.work"), 0);
    assert_int_equal(start("life.work"), -EALREADY);
    assert_int_equal(start(NULL), -EALREADY);
    assert_int_equal(status_now().collectors, 1);
    spex_stop();
}

TEST_WITH(unstarted_it_cannot_be_set, NULL, stop) {
    assert_int_equal(spex_set("life.work"), -EPERM);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(spex_stop(), 0);
}

TEST_WITH(it_starts_again_after_a_stop, NULL, stop) {
    struct spex_status before = status_now();
    for (unsigned round = 1; round <= 10; round++) {
        struct tally tally = {.probe_id = WORK};
        capture_start(tally_see, &tally);
        assert_int_equal(start("life.work"), 0);
        work(round);
        spex_stop();
        work(3); /* off */
        assert_int_equal(tally.count, round);
        assert_int_equal(tally.others, 0);
    }
    struct spex_status now = status_now();
    assert_int_equal(now.produced, before.produced + 55);
    assert_int_equal(now.consumed, before.consumed + 55);
    assert_int_equal(now.lost, before.lost);
    assert_int_equal(now.pending, 0);
}

/* 999 executions of a period of 1000 make no record, and are forgotten with the switching off,
 * whether the probe or all of spex is switched. */
TEST_WITH(counts_do_not_go_on_over_a_switching_off, NULL, stop) {
    struct tally tally = {.probe_id = WORK};
    assert_int_equal(start("life.work@1000"), 0);
    work(999);
    spex_stop();
    capture_start(tally_see, &tally);
    assert_int_equal(start("life.work@1"), 0);
    work(1);
    assert_int_equal(spex_set("life.work@1000"), 1);
    work(999);
    assert_int_equal(spex_set(""), 0);
    assert_int_equal(spex_set("life.work@1"), 1);
    work(1);
    spex_stop();
    assert_int_equal(tally.count, 2);
    assert_int_equal(tally.weight, 2);
}

TEST_WITH(counts_go_on_over_a_change_of_period, NULL, stop) {
    struct tally tally = {.probe_id = WORK};
    capture_start(tally_see, &tally);
    assert_int_equal(start("life.work@1000"), 0);
    work(999);
    assert_int_equal(spex_set("life.work@2000"), 1);
    work(999);
    assert_int_equal(spex_set("life.work@1"), 1);
    work(1);
    spex_stop();
    /* The first record comes at most 999 executions early. */
    assert_in_range(tally.weight, 1999, 1999 + 999);
}

static void expect_refused(const struct spex_options *options, int err, const char *message) {
    messages_begin();
    int got = spex_start(options);
    const char *text = messages_end();
    assert_int_equal(got, err);
    if (!strstr(text, message))
        fail_msg("\"%s\" is not in \"%s\"", message, text);
    assert_int_equal(status_now().collectors, 0);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(spex_set("life.work"), -EPERM);
    assert_int_equal(start("life.work"), 0);
    spex_stop();
}

TEST_WITH(bad_options_are_refused, NULL, stop) {
    struct spex_options options;
#define EXPECT_REFUSED(member, value, err, message)                                                \
    options = options_for("life.work");                                                            \
    options.member = (value);                                                                      \
    expect_refused(&options, err, message)

    EXPECT_REFUSED(size, 0, -EINVAL, "spex_options");
    EXPECT_REFUSED(size, sizeof(options) - 1, -EINVAL, "spex_options");
    EXPECT_REFUSED(size, sizeof(options) + 8, -EINVAL, "spex_options");
    EXPECT_REFUSED(collectors, 65, -EINVAL, "a number of 1 to 64 was expected");
    EXPECT_REFUSED(ring_records, 1, -EINVAL, "a power of two of 2 to 16777216 was expected");
    EXPECT_REFUSED(ring_records, 1000, -EINVAL, "a power of two of 2 to 16777216 was expected");
    EXPECT_REFUSED(ring_records, 1u << 25, -EINVAL, "a power of two");
    EXPECT_REFUSED(batch_records, 4097, -EINVAL, "a number of 1 to 4096 was expected");
    EXPECT_REFUSED(probes, "life.work@0", -EINVAL, "a period of 1 to");
    EXPECT_REFUSED(rate_policy, "no policy", -EINVAL, "was expected, or the path of an object");
    EXPECT_REFUSED(rate_policy, "/nowhere/at/all", -EINVAL, "a shared object was expected");
    EXPECT_REFUSED(budget, "2", -EINVAL, "SPEX_BUDGET=2: a percentage of the program's CPU time");
    EXPECT_REFUSED(thread_budget, "-1%", -EINVAL, "a percentage of a thread's time");
#undef EXPECT_REFUSED
}

TEST_WITH(bad_variables_are_refused, NULL, stop) {
    static const struct {
        const char *name, *value, *message;
    } bad[] = {
        {"SPEX_COLLECTORS", "0", "a number of 1 to 64 was expected"},
        {"SPEX_COLLECTORS", "65", "a number of 1 to 64 was expected"},
        {"SPEX_COLLECTORS", "-1", "a number was expected"},
        {"SPEX_COLLECTORS", "two", "a number was expected"},
        {"SPEX_COLLECTORS", "2 ", "a number was expected"},
        {"SPEX_COLLECTORS", "18446744073709551617", "a number was expected"},
        {"SPEX_RING_RECORDS", "100", "a power of two of 2 to 16777216 was expected"},
        {"SPEX_RING_RECORDS", "1", "a power of two of 2 to 16777216 was expected"},
        {"SPEX_RING_RECORDS", "33554432", "was expected"},
        {"SPEX_BATCH_RECORDS", "5000", "a number of 1 to 4096 was expected"},
        {"SPEX_PROBES", "life.work:nothing", "a probe type was expected"},
        {"SPEX_RATE_POLICY", "best", "was expected, or the path of an object"},
        {"SPEX_BUDGET", "2", "SPEX_BUDGET=2: a percentage of the program's CPU time, above 0%"},
        {"SPEX_THREAD_BUDGET", "x%", "a percentage of a thread's time, above 0%"},
        {"SPEX_SAMPLES", "0", "SPEX_SAMPLES=0: a number of 0.01 to 1000000 was expected"},
        {"SPEX_FORKS", "yes", "SPEX_FORKS=yes: \"follow\" was expected"},
        {"SPEX_RATE_POLICY", "/nowhere/at/all", "a shared object was expected"},
    };
    const struct spex_options options = options_for("life.work");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        setenv(bad[i].name, bad[i].value, 1);
        messages_begin();
        int got = spex_start(&options);
        const char *text = messages_end();
        unsetenv(bad[i].name);
        if (got >= 0 || !strstr(text, bad[i].message) || !strstr(text, "spex: "))
            fail_msg("%s=%s: %d, \"%s\"", bad[i].name, bad[i].value, got, text);
        assert_int_equal(status_now().collectors, 0);
        assert_int_equal(start(NULL), 0);
        spex_stop();
    }
}

/* The lines on standard error until spex has stopped again; `sites_on` as the start leaves it. */
static const char *messages_with_output(const char *out, uint32_t sites_on) {
    struct spex_options options = options_for("life.work");
    options.out = out;
    messages_begin();
    int got = spex_start(&options);
    struct spex_status started = status_now();
    int set = spex_set("life.work");
    spex_stop();
    const char *text = messages_end();
    assert_int_equal(got, 0);
    assert_int_equal(started.sites_on, sites_on);
    assert_int_equal(set, 1);
    return text;
}

TEST_WITH(a_bad_output_costs_the_output_alone, NULL, stop) {
    const char *text = messages_with_output("/nowhere/at/all", 1);
    assert_non_null(strstr(text, "spex: SPEX_OUT: cannot open /nowhere/at/all: "));
    assert_non_null(strstr(text, "life.work  cnt"));
    text = messages_with_output("unix:/nowhere/at/all", 0);
    assert_non_null(strstr(text, "spex: SPEX_OUT: cannot connect to unix:/nowhere/at/all: "));
}

TEST_WITH(the_user_has_the_last_word, NULL, stop) {
    setenv("SPEX_COLLECTORS", "3", 1);
    setenv("SPEX_PROBES", "nobody", 1);
    messages_begin();
    assert_int_equal(start("life.work"), 0);
    const char *text = messages_end();
    unsetenv("SPEX_COLLECTORS");
    unsetenv("SPEX_PROBES");
    assert_non_null(strstr(text, "no probe matches \"nobody\""));
    assert_non_null(strstr(text, "there are: life.work:"));
    assert_int_equal(status_now().collectors, 3);
    assert_int_equal(status_now().sites_on, 0);
    spex_stop();
}

TEST_WITH(a_bad_selection_leaves_the_old_one, NULL, stop) {
    assert_int_equal(start("life.work"), 0);
    messages_begin();
    int got = spex_set("life.work,:late");
    const char *text = messages_end();
    assert_int_equal(got, -EINVAL);
    assert_non_null(strstr(text, "was expected"));
    assert_int_equal(status_now().sites_on, 1);
    spex_stop();
}

static void expect_selected(const char *expected) {
    char text[64];
    assert_int_equal(spex_sites_selection(text, sizeof(text)), 0);
    assert_string_equal(text, expected);
}

TEST_WITH(items_are_added_to_a_selection, NULL, stop) {
    assert_int_equal(start("off"), 0);
    assert_int_equal(status_now().collectors, 0);
    expect_selected("off");
    assert_int_equal(spex_set("*@off"), 0);
    assert_int_equal(status_now().collectors, 0); /* for nothing that is on */
    assert_int_equal(spex_set("+life.work"), 1);
    assert_int_equal(status_now().collectors, 1);
    expect_selected("*@off,life.work");
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(spex_set("+life.work@off"), 0);
        assert_int_equal(spex_set("+life.work@7"), 1);
    }
    expect_selected("*@off,life.work@7");
    assert_int_equal(spex_set("life.work"), 1);
    expect_selected("life.work");
    assert_int_equal(spex_set("off"), 0);
    expect_selected("off");
    spex_stop();
    expect_selected("off");
}

TEST_WITH(too_much_is_not_added, NULL, stop) {
    char many[16384] = "life.work";
    size_t length = strlen(many);
    for (unsigned i = 1; i < 1024; i++)
        length += (size_t)snprintf(many + length, sizeof(many) - length, ",%u@off", 1000 + i);
    messages_begin(); /* most of them match nothing */
    int err = start(many);
    messages_end();
    assert_int_equal(err, 0);
    assert_int_equal(status_now().sites_on, 1);
    messages_begin();
    int got = spex_set("+:lat");
    const char *text = messages_end();
    assert_int_equal(got, -E2BIG);
    assert_non_null(strstr(text, "probe selection: stays as it was: "));
    assert_int_equal(status_now().sites_on, 1);
    assert_int_equal(spex_set("+life.work@off"), 0); /* in the place of another */
    spex_stop();
}

TEST_WITH(a_status_of_another_size_is_refused, NULL, stop) {
    struct spex_status now = {.size = sizeof(now) - 8};
    assert_int_equal(spex_status_get(&now), -EINVAL);
}

/* A span whose site was off, or not of this generation, when it was looked at again. */
TEST_WITH(an_end_of_a_probe_that_is_off_makes_no_record, NULL, stop) {
    struct spex_site off = {.subsample = 1, .type_number = SPEX_TYPE_NUMBER_(SPEX_LAT)};
    struct spex_status before = status_now();
    assert_int_equal(start("life.work"), 0);
    work(1);
    spex_lat_end(&off, 1, 1, 2);
    off.control = 2u << SPEX_CONTROL_GENERATION_SHIFT | 1;
    spex_lat_end(&off, 1u << SPEX_CONTROL_GENERATION_SHIFT | 1, 1, 2);
    spex_stop();
    assert_int_equal(status_now().produced - before.produced, 1);
}

TEST_WITH(rings_of_another_size_are_refused_aloud, NULL, stop) {
    struct spex_options options = options_for("life.work");
    assert_int_equal(start("life.work"), 0);
    spex_stop();
    options.ring_records = 16;
    messages_begin();
    assert_int_equal(spex_start(&options), 0);
    assert_non_null(strstr(messages_end(), "rings stay as this process first made them"));
    spex_stop();
}

TEST_WITH(collectors_of_a_real_time_thread_are_ordinary, NULL, stop) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    const struct sched_param none = {.sched_priority = 0};
    pid_t collector;
    int err = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
    if (err) {
        print_message("skipped: no real-time thread: %s\n", strerror(err));
        skip();
    }
    int started = start("life.work");
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    assert_int_equal(started, 0);
    assert_int_equal(threads_find("spex-collector", &collector), 1);
    /* musl's function of this name refuses to answer. The flag marks spex's threads. */
    assert_int_equal(syscall(SYS_sched_getscheduler, collector), SCHED_OTHER | SCHED_RESET_ON_FORK);
    spex_stop();
}

/* The reference to the setting function is weak, as all of a program's to spex, and a static
 * library gives nothing for weak references. */
TEST_WITH(a_performance_counter_can_be_set, NULL, stop) {
    assert_int_equal(SET_PERFCNTR(SPEX_PERFCNTRS, 0xc0, 0), -EINVAL);
    assert_int_equal(SET_PERFCNTR_NAME(SPEX_PERFCNTRS, "perf::TASK-CLOCK"), -EINVAL);
}
