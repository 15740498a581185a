/* SPDX-License-Identifier: MIT */
/* Counters against the kernel's own figures, in every way of reading them that the machine has, and
 * what happens when descriptors, locked memory or privileges are missing. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>

#include "../check.h"
#include "counters/counters.h"
#include "counters/event.h"
#include "counters/prepare.h"
#include "messages.h"

enum { PAGES = 20000, SWITCHES = 1000, THREADS = 1000, NOBODY = 65534 };

static const enum spex_counter first_perfcntr = SPEX_COUNTER_PERFCNTR;

/* ---- work that makes a known number of faults and switches ---- */

static void touch_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(madvise(memory, bytes, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < bytes; i += page)
        ((volatile char *)memory)[i] = 1;
    munmap(memory, bytes);
}

static void *answer(void *argument) {
    const int *pipes = argument;
    char byte;
    while (read(pipes[0], &byte, 1) == 1)
        assert_int_equal(write(pipes[3], &byte, 1), 1);
    return NULL;
}

/* A byte to another thread and back: this one waits, and so switches, nearly every time. */
static void switch_often(void) {
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

static uint64_t by_getrusage(enum spex_counter counter) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return counter == SPEX_COUNTER_FAULTS ? (uint64_t)(usage.ru_minflt + usage.ru_majflt)
                                          : (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static struct spex_reading read_now(struct spex_thread_counters *mine, enum spex_counter counter) {
    struct spex_reading reading;
    if (!spex_counter_ready(mine, counter))
        assert_true(spex_counter_open(mine, counter));
    assert_true(spex_counter_ready(mine, counter));
    assert_false(spex_counter_open(mine, counter));
    spex_counter_read(mine, counter, &reading);
    return reading;
}

static uint64_t delta(const struct spex_reading *begin, const struct spex_reading *end) {
    uint64_t values[2] = {0, 0};
    bool scaled = true;
    assert_true(spex_counter_delta(begin, end, values, &scaled));
    assert_false(scaled);
    return values[0];
}

static const char *description(enum spex_counter counter) {
    static char text[600];
    spex_counters_describe(counter, text, sizeof(text));
    return text;
}

static void expect_text(enum spex_counter counter, const char *part) {
    if (!strstr(description(counter), part))
        fail_msg("\"%s\" says nothing of \"%s\"", description(counter), part);
}

/* Equal to getrusage, in one of a few tries: the thread may be interrupted, or touch a page of the
 * test itself, between the reading of the one and of the other. */
static void expect_exact(struct spex_thread_counters *mine, enum spex_counter counter,
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

static void expect_way(const char *list, enum spex_counter counter, const char *text,
                       bool descriptors) {
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_counters_allow(list), 0);
    assert_int_equal(spex_counters_prepare(counter), 0);
    expect_text(counter, text);
    assert_true(spex_counter_cost(counter) > 0);
    if (counter == SPEX_COUNTER_FAULTS)
        expect_exact(&mine, counter, touch_pages, PAGES);
    else
        expect_exact(&mine, counter, switch_often, SWITCHES / 2);
    assert_int_equal(spex_counter_fallbacks(counter), 0);
    assert_int_equal(mine.events[counter].ids[0] != 0, descriptors);
    print_message("%s (%llu ticks)\n", description(counter),
                  (unsigned long long)spex_counter_cost(counter));
    spex_counters_close(&mine);
    assert_int_equal(spex_counters_allow(NULL), 0);
}

static bool perf_permits(bool kernel) {
    struct perf_event_attr attr = {.size = sizeof(attr),
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .exclude_kernel = !kernel};
    long descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor >= 0)
        close((int)descriptor);
    return descriptor >= 0;
}

static void need_perf(bool kernel) {
    if (perf_permits(kernel))
        return;
    print_message("SKIP: perf_event_open is not permitted here\n");
    skip();
}

static unsigned long entries(const char *path, const char *with) {
    char line[1024];
    unsigned long count = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, with) != NULL;
    fclose(file);
    return count;
}

static unsigned long event_mappings(void) {
    return entries("/proc/self/maps", "[perf_event]");
}

static unsigned long event_descriptors(void) {
    unsigned long count = 0;
    for (int i = 0; i < 4096; i++) {
        uint64_t id;
        count += ioctl(i, PERF_EVENT_IOC_ID, &id) == 0;
    }
    return count;
}

static void prepare_quietly(enum spex_counter counter) {
    messages_begin();
    (void)spex_counters_prepare(counter);
    (void)messages_end();
}

static void open_all(struct spex_thread_counters *mine) {
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        (void)read_now(mine, counter);
}

/* Faults and switches mapped if the machine permits it, PERFCNTR 0 and 1 by read(). */
static void prepare_some(void) {
    messages_begin();
    assert_int_not_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS"), -EINVAL);
    assert_int_not_equal(spex_perfcntr_set_name(1, "perf::TASK-CLOCK"), -EINVAL);
    (void)messages_end();
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        prepare_quietly(counter);
}

/* ---- in a child of its own ---- */

static void drop_privileges(void) {
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        abort();
}

/* Runs `check` in a child: what it asserts ends the child, and so this test. */
static void in_child(void (*check)(void)) {
    fflush(stdout);
    spex_counters_fork_prepare();
    pid_t child = fork();
    if (child != 0)
        spex_counters_fork_parent();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* no other tests in the child after a failure */
        spex_counters_fork_child();
        check();
        fflush(stdout);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("the child ended with status %#x", (unsigned)status);
}

/* ---- the ways ---- */

static void faults_by_records(void **state) {
    (void)state;
    need_perf(true);
    expect_way(NULL, SPEX_COUNTER_FAULTS, "page faults by the head of a ring", false);
    expect_way("fault-records", SPEX_COUNTER_FAULTS, "page faults by the head of a ring", false);
}

static void faults_by_getrusage(void **state) {
    (void)state;
    expect_way("rusage", SPEX_COUNTER_FAULTS, "by getrusage; not by the head of a ring", false);
}

static void switches_by_count(void **state) {
    (void)state;
    need_perf(true);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "switches by the count in a mapped event page", false);
}

static void switches_by_records(void **state) {
    (void)state;
    need_perf(false);
    expect_way("switch-records", SPEX_COUNTER_SWITCHES, "by the head of a ring with two", false);
}

static void switches_by_getrusage(void **state) {
    (void)state;
    expect_way("rusage", SPEX_COUNTER_SWITCHES, "context switches by getrusage; not by", false);
}

static void chosen_events_by_read(void **state) {
    static const enum spex_counter faults = SPEX_COUNTER_PERFCNTR;
    (void)state;
    need_perf(true);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS"), 0);
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_counters_prepare(faults), 0);
    expect_text(faults, "perf::PAGE-FAULTS by read() on the event; not by the processor's");
    for (int i = 0; i < 5; i++) {
        struct spex_reading begin = read_now(&mine, faults);
        uint64_t before = by_getrusage(SPEX_COUNTER_FAULTS);
        touch_pages();
        uint64_t made = by_getrusage(SPEX_COUNTER_FAULTS) - before;
        struct spex_reading end = read_now(&mine, faults);
        assert_true(made >= PAGES);
        if (delta(&begin, &end) == made)
            break;
        assert_true(i < 4);
    }
    print_message("%s (%llu ticks)\n", description(faults),
                  (unsigned long long)spex_counter_cost(faults));
    spex_counters_close(&mine);
    assert_int_equal(event_descriptors(), 0);
}

static void time_of_the_thread(void **state) {
    (void)state;
    need_perf(false);
    const enum spex_counter clock = (enum spex_counter)(first_perfcntr + 1);
    struct spex_thread_counters mine = {0};
    struct timespec begin_time, end_time;
    assert_int_equal(spex_perfcntr_set_name(1, "perf::TASK-CLOCK"), 0);
    assert_int_equal(spex_counters_prepare(clock), 0);
    (void)read_now(&mine, clock);
    clock_gettime(CLOCK_MONOTONIC, &begin_time);
    struct spex_reading begin = read_now(&mine, clock);
    touch_pages();
    struct spex_reading end = read_now(&mine, clock);
    clock_gettime(CLOCK_MONOTONIC, &end_time);
    uint64_t outer = (uint64_t)(end_time.tv_sec - begin_time.tv_sec) * 1000000000u +
                     (uint64_t)end_time.tv_nsec - (uint64_t)begin_time.tv_nsec;
    uint64_t inner = delta(&begin, &end);
    /* Two clocks of the kernel: of one rate but for the adjustment of the one. */
    assert_true(inner > 0 && inner <= outer + outer / 100);
    spex_counters_close(&mine);
}

static void check_unprivileged(void) {
    drop_privileges();
    if (perf_permits(true))
        return; /* nothing is kept from this user here */
    if (!perf_permits(false)) {
        expect_way(NULL, SPEX_COUNTER_FAULTS, "by getrusage", false);
        expect_way(NULL, SPEX_COUNTER_SWITCHES, "by getrusage", false);
        return;
    }
    expect_way(NULL, SPEX_COUNTER_FAULTS, "in user mode only, by the head of a ring", false);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "by the head of a ring with two records", false);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "not by the count in a mapped event page: perf", false);
    assert_int_equal(spex_perfcntr_set_name(2, "perf::PAGE-FAULTS"), 0);
    const enum spex_counter faults = (enum spex_counter)(first_perfcntr + 2);
    assert_int_equal(spex_counters_prepare(faults), 0);
    expect_text(faults, "in user mode only, by read()");
}

static void without_privileges(void **state) {
    (void)state;
    in_child(check_unprivileged);
}

static void check_dropped_privileges(void) {
    static struct spex_thread_counters mine;
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), 0);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_SWITCHES), 0);
    drop_privileges();
    expect_exact(&mine, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    expect_exact(&mine, SPEX_COUNTER_SWITCHES, switch_often, SWITCHES / 2);
    if (!perf_permits(true)) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_SWITCHES), 1);
        expect_text(SPEX_COUNTER_SWITCHES, "1 threads fell back: Permission denied");
        /* Half of the faults under the name of all would be wrong; switches have another exact way. */
        assert_null(mine.events[SPEX_COUNTER_FAULTS].word);
        assert_int_equal(mine.events[SPEX_COUNTER_SWITCHES].word != NULL, perf_permits(false));
    }
}

static void privileges_dropped_later(void **state) {
    (void)state;
    need_perf(true);
    in_child(check_dropped_privileges);
}

static void instruction_that_is_not_allowed(void **state) {
    (void)state;
    need_perf(false);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::TASK-CLOCK"), 0);
    assert_int_equal(spex_counters_allow("rdpmc"), 0);
    messages_begin();
    assert_true(spex_counters_prepare(first_perfcntr) < 0);
    assert_non_null(strstr(messages_end(), "not by the processor's instruction: "));
    assert_int_equal(spex_counters_allow(NULL), 0);
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
}

static void no_way_at_all(void **state) {
    struct spex_thread_counters mine = {0};
    (void)state;
    assert_int_equal(spex_counters_allow("none"), 0);
    messages_begin();
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), -EPERM);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), -EPERM);
    const char *messages = messages_end();
    assert_non_null(strstr(messages, "spex: page faults not available here; not by"));
    assert_null(strstr(strstr(messages, "spex: ") + 1, "spex: "));
    assert_int_equal(spex_counter_cost(SPEX_COUNTER_FAULTS), 0);
    struct spex_reading reading = read_now(&mine, SPEX_COUNTER_FAULTS);
    uint64_t values[2];
    bool scaled;
    assert_false(reading.available);
    assert_false(spex_counter_delta(&reading, &reading, values, &scaled));
    assert_int_equal(spex_counters_allow(NULL), 0);
    spex_counters_close(&mine);
}

static void lists_of_ways(void **state) {
    (void)state;
    static const char *const bad[] = {"rusages", "rusage,", ",rusage", "rusage read", "RUSAGE"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        messages_begin();
        assert_int_equal(spex_counters_allow(bad[i]), -EINVAL);
        assert_non_null(strstr(messages_end(), "SPEX_COUNTERS="));
    }
    assert_int_equal(spex_counters_allow("read,rusage,switch-count"), 0);
    assert_int_equal(spex_counters_allow(""), 0);
}

/* ---- events by code and name ---- */

static void events_that_are_none(void **state) {
    (void)state;
    messages_begin();
    assert_int_equal(spex_perfcntr_set_name(0, "perf::NO-SUCH-EVENT"), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(0, ""), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(0, NULL), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(SPEX_PERFCNTRS, "perf::TASK-CLOCK"), -EINVAL);
    assert_int_equal(spex_perfcntr_set(SPEX_PERFCNTRS, 0xc0, 0), -EINVAL);
    assert_int_equal(spex_perfcntr_set(0, 0x10000, 0), -EINVAL);
    assert_int_equal(spex_perfcntr_set(0, 0xc0, (uint64_t)1 << 24), -EINVAL);
    const char *messages = messages_end();
    assert_non_null(strstr(messages, "counter 0: perf::NO-SUCH-EVENT: "));
    assert_non_null(strstr(messages, "counter 8: a number of 0 to 7"));
    assert_non_null(strstr(messages, "no code of event 0x10000, mask 0"));
}

static void a_counter_without_event(void **state) {
    const enum spex_counter last = (enum spex_counter)(SPEX_COUNTERS - 1);
    (void)state;
    messages_begin();
    assert_int_equal(spex_counters_prepare(last), -ENOENT);
    assert_non_null(strstr(messages_end(), "counter 7 not available: no event has been set"));
}

/* Says that it is there and counts, or that it is not and why; never a number without a counter. */
static void events_of_the_processor(void **state) {
    struct spex_thread_counters mine = {0};
    (void)state;
    assert_int_equal(spex_perfcntr_set(3, 0xc0, 0), 0); /* instructions retired, on x86 */
    const enum spex_counter raw = (enum spex_counter)(first_perfcntr + 3);
    const enum spex_counter both[] = {SPEX_COUNTER_LLC, raw};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        messages_begin();
        int err = spex_counters_prepare(both[i]);
        const char *messages = messages_end();
        struct spex_reading reading = read_now(&mine, both[i]);
        print_message("%s\n", description(both[i]));
        assert_int_equal(reading.available, err == 0);
        assert_int_equal(strstr(messages, "not available here: ") != NULL, err != 0);
        assert_int_equal(strstr(description(both[i]), "not available here: ") != NULL, err != 0);
    }
    spex_counters_close(&mine);
}

/* libpfm4 can be told to take the machine for another. */
static const struct {
    const char *pmu;
    const char *text;
} processors[] = {
    {"hsw", "LONGEST_LAT_CACHE (references 0x4f2e, misses 0x412e)"},
    {"icl", "LONGEST_LAT_CACHE (references 0x4f2e, misses 0x412e)"},
    {"spr", "LONGEST_LAT_CACHE (references 0x4f2e, misses 0x412e)"},
    {"amd64_fam17h_zen2", "DATA_CACHE_REFILLS_FROM_SYSTEM (references 0x5a43, misses 0x5843)"},
    {"amd64_fam19h_zen3", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0x5e44, misses 0x5c44)"},
    {"amd64_fam19h_zen4", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0xde44, misses 0xdc44)"},
};
static size_t processor;

static void check_cache_events(void) {
    unsigned position = 0;
    struct spex_choice choice;
    setenv("LIBPFM_FORCE_PMU", processors[processor].pmu, 1);
    assert_true(spex_llc_next(&position, &choice));
    assert_string_equal(choice.text, processors[processor].text);
}

static void cache_events_of_processors(void **state) {
    (void)state;
#if defined(__x86_64__)
    for (processor = 0; processor < COUNT_OF(processors); processor++)
        in_child(check_cache_events);
#else
    (void)check_cache_events;
    skip();
#endif
}

static void another_event(void **state) {
    struct spex_thread_counters mine = {0};
    uint64_t values[2];
    bool scaled;
    (void)state;
    need_perf(false);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS:u"), 0);
    assert_int_equal(spex_counters_prepare(first_perfcntr), 0);
    struct spex_reading before = read_now(&mine, first_perfcntr);
    assert_true(before.available);
    assert_int_equal(spex_perfcntr_set_name(0, "PAGE-FAULTS:u"), 0); /* the same */
    assert_true(spex_counter_ready(&mine, first_perfcntr));

    assert_int_equal(spex_perfcntr_set_name(0, "perf::TASK-CLOCK"), 0);
    expect_text(first_perfcntr, "perf::TASK-CLOCK");
    assert_false(spex_counter_ready(&mine, first_perfcntr));
    struct spex_reading stale;
    spex_counter_read(&mine, first_perfcntr, &stale);
    assert_false(stale.available);
    struct spex_reading after = read_now(&mine, first_perfcntr);
    assert_true(after.available);
    assert_false(spex_counter_delta(&before, &after, values, &scaled));
    assert_int_equal(event_descriptors(), 1);
    spex_counters_close(&mine);
    assert_int_equal(event_descriptors(), 0);
}

struct changing {
    int stop;
    unsigned long opened;
};

static void *read_while_changing(void *argument) {
    struct changing *changing = argument;
    struct spex_thread_counters mine = {0};
    struct spex_reading reading;
    while (!spex_load_relaxed(&changing->stop)) {
        if (!spex_counter_ready(&mine, first_perfcntr) && spex_counter_open(&mine, first_perfcntr))
            spex_fetch_add_relaxed(&changing->opened, 1);
        spex_counter_read(&mine, first_perfcntr, &reading);
    }
    spex_counters_close(&mine);
    return NULL;
}

static void changes_while_threads_read(void **state) {
    static const char *const names[] = {"perf::TASK-CLOCK", "perf::PAGE-FAULTS:u"};
    struct changing changing = {0};
    pthread_t threads[2];
    (void)state;
    need_perf(false);
    prepare_some();
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_while_changing, &changing), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(spex_perfcntr_set_name(0, names[i % 2]), 0);
    while (spex_load_relaxed(&changing.opened) < COUNT_OF(threads))
        sched_yield();
    spex_store_relaxed(&changing.stop, 1);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(event_descriptors(), 0);
}

/* ---- differences ---- */

static void multiplexed_events_are_scaled(void **state) {
    uint64_t values[2];
    bool scaled;
    (void)state;
    struct spex_reading begin = {{1000, 10}, 5000, 4000, 1, true};
    struct spex_reading end = {{2000, 20}, 9000, 5000, 1, true};
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_true(scaled);
    assert_int_equal(values[0], 4000);
    assert_int_equal(values[1], 40);
    end.running = 8000; /* all the time between the two */
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    assert_int_equal(values[0], 1000);
    end.running = begin.running; /* none of it */
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
    begin.enabled = begin.running = 0; /* by instruction, and then shared: how long is unknown */
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
    end.enabled = end.running; /* never shared */
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    end.source = 2;
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
}

/* ---- no system calls ---- */

static volatile sig_atomic_t calls;

static void count_call(int signal) {
    (void)signal;
    calls++;
}

static void trap_system_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(filter), .filter = filter};
    struct sigaction action = {.sa_handler = count_call, .sa_flags = SA_NODEFER};
    assert_int_equal(sigaction(SIGSYS, &action, NULL), 0);
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static void check_calls(void) {
    static struct spex_thread_counters mine;
    static const enum spex_counter mapped[] = {SPEX_COUNTER_FAULTS, SPEX_COUNTER_SWITCHES};
    for (size_t i = 0; i < COUNT_OF(mapped); i++) {
        assert_int_equal(spex_counters_prepare(mapped[i]), 0);
        assert_true(read_now(&mine, mapped[i]).available);
        assert_non_null(mine.events[mapped[i]].word);
    }
    trap_system_calls();
    struct spex_reading reading;
    bool right = true;
    for (int i = 0; i < 100000; i++)
        for (size_t m = 0; m < COUNT_OF(mapped); m++) {
            right = right && spex_counter_ready(&mine, mapped[m]);
            spex_counter_read(&mine, mapped[m], &reading);
            right = right && reading.available;
        }
    int made = calls;
    (void)syscall(SYS_getppid); /* the trap is there */
    syscall(SYS_exit_group, right && made == 0 && calls == 1 ? 0 : 1);
}

static void no_system_call_to_read(void **state) {
    (void)state;
    need_perf(false);
    in_child(check_calls);
}

/* ---- what goes missing ---- */

static void closed_descriptors(void **state) {
    struct spex_thread_counters mine = {0};
    int pipes[2];
    (void)state;
    need_perf(false);
    prepare_some();
    assert_true(read_now(&mine, first_perfcntr).available);
    /* The program closes what it does not know; its own pipe gets the number. */
    int number = mine.events[first_perfcntr].descriptors[0];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(write(pipes[1], "hello", 5), 5);
    assert_int_equal(close(number), 0);
    assert_int_equal(dup2(pipes[0], number), number);

    struct spex_reading reading;
    errno = EXDEV;
    spex_counter_read(&mine, first_perfcntr, &reading);
    assert_int_equal(errno, EXDEV);
    assert_false(reading.available);
    assert_false(spex_counter_ready(&mine, first_perfcntr));
    assert_true(read_now(&mine, first_perfcntr).available);
    assert_int_not_equal(mine.events[first_perfcntr].descriptors[0], number);

    /* Once more; now the thread ends, and closes nothing of the program's. */
    int second = mine.events[first_perfcntr].descriptors[0];
    assert_int_equal(dup2(pipes[0], second), second);
    spex_counters_close(&mine);
    char text[8] = "";
    assert_int_equal(read(second, text, 2), 2);
    assert_int_equal(read(number, text + 2, 6), 3);
    assert_string_equal(text, "hello");
    close(number);
    close(second);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(event_descriptors(), 0);
}

/* Two events in a group, as for the cache, of which the program closes the second. */
static void a_group_that_is_torn(void **state) {
    static const struct spex_counter_plan plan = {
        .events = 2,
        .codes = {{.type = PERF_TYPE_SOFTWARE,
                   .config = PERF_COUNT_SW_PAGE_FAULTS,
                   .exclude = SPEX_EXCLUDE_KERNEL},
                  {.type = PERF_TYPE_SOFTWARE,
                   .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
                   .exclude = SPEX_EXCLUDE_KERNEL}},
    };
    struct spex_event event = {0};
    struct spex_reading begin, end;
    uint64_t values[2];
    bool scaled;
    const char *step;
    (void)state;
    need_perf(false);
    assert_int_equal(spex_event_open(&event, &plan, SPEX_WAY_READ, &step), 0);
    assert_int_equal(event_descriptors(), 2);
    spex_event_read(&event, SPEX_COUNTER_LLC, &begin);
    uint64_t before = by_getrusage(SPEX_COUNTER_FAULTS);
    touch_pages();
    uint64_t made = by_getrusage(SPEX_COUNTER_FAULTS) - before;
    spex_event_read(&event, SPEX_COUNTER_LLC, &end);
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    assert_true(made >= PAGES);
    /* The reading itself may touch a page or two. */
    assert_in_range(values[0], made, made + 10);
    assert_int_equal(values[1], values[0]);
    assert_true(spex_event_intact(&event));
    assert_int_equal(close(event.descriptors[1]), 0);
    spex_event_read(&event, SPEX_COUNTER_LLC, &end);
    assert_false(end.available);
    assert_false(spex_event_intact(&event));
    spex_event_release(&event);
    assert_int_equal(event_descriptors(), 0);
}

static void check_no_descriptors(void) {
    struct spex_thread_counters mine = {0};
    const struct rlimit none = {0, 0};
    prepare_some();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_exact(&mine, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    assert_false(read_now(&mine, first_perfcntr).available);
    if (mine.events[SPEX_COUNTER_FAULTS].fallback) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        expect_text(SPEX_COUNTER_FAULTS, "; 1 threads fell back: Too many open files");
        assert_int_equal(spex_counter_fallbacks(first_perfcntr), 1);
    }
    spex_counters_close(&mine);
    assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 0);
}

static void no_descriptors_left(void **state) {
    (void)state;
    in_child(check_no_descriptors);
}

static void check_no_memory(void) {
    enum { STATES = 4096 };
    struct spex_thread_counters *states = calloc(STATES, sizeof(*states));
    const struct rlimit none = {0, 0};
    assert_non_null(states);
    drop_privileges();
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
    /* What was prepared before may need privileges. */
    assert_int_equal(spex_counters_allow("fault-records,rusage"), 0);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), 0);
    /* A thread may have several states; the kernel counts each. */
    int last = 0;
    while (last + 1 < STATES && !spex_counter_fallbacks(SPEX_COUNTER_FAULTS))
        (void)read_now(&states[last++], SPEX_COUNTER_FAULTS);
    if (perf_permits(false)) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        expect_text(SPEX_COUNTER_FAULTS, "1 threads fell back: Operation not permitted");
        expect_exact(&states[last - 1], SPEX_COUNTER_FAULTS, touch_pages, PAGES);
        expect_exact(&states[0], SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    }
    for (int i = 0; i < last; i++)
        spex_counters_close(&states[i]);
    assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 0);
    assert_int_equal(event_mappings(), 0);
    free(states);
}

static void no_memory_to_lock(void **state) {
    (void)state;
    in_child(check_no_memory);
}

/* ---- forks and threads ---- */

static struct spex_thread_counters parents;
static struct spex_reading parents_reading;

static void check_fork(void) {
    uint64_t values[2];
    bool scaled;
    spex_thread_counters_fork_child(&parents);
    static const struct spex_thread_counters none;
    assert_memory_equal(&parents, &none, sizeof(none));
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
    struct spex_reading reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    assert_false(spex_counter_delta(&parents_reading, &reading, values, &scaled));
    expect_exact(&parents, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    assert_true(read_now(&parents, SPEX_COUNTER_FAULTS).values[0] < 10 * PAGES);
    open_all(&parents);
    spex_counters_close(&parents);
    assert_int_equal(event_descriptors(), 0);
}

static void the_child_of_a_fork(void **state) {
    (void)state;
    prepare_some();
    open_all(&parents);
    for (int i = 0; i < 10; i++)
        touch_pages();
    parents_reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    in_child(check_fork);
    /* The parent's go on, and nothing of the child's is in them. */
    struct spex_reading reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    assert_true(delta(&parents_reading, &reading) < PAGES);
    expect_exact(&parents, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    spex_counters_close(&parents);
}

static void *open_and_close(void *argument) {
    struct spex_thread_counters mine = {0};
    (void)argument;
    open_all(&mine);
    spex_counters_close(&mine);
    static const struct spex_thread_counters none;
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        assert_int_equal(mine.events[counter].source, none.events[counter].source);
    return NULL;
}

static void threads_leave_nothing(void **state) {
    (void)state;
    prepare_some();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, open_and_close, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        assert_int_equal(spex_counter_fallbacks(counter), 0);
}

/* ---- signal handlers ---- */

static struct spex_thread_counters handlers;
static unsigned long handled;

static void probe_in_handler(int signal) {
    (void)signal;
    struct spex_reading begin, end;
    int saved = errno;
    for (enum spex_counter counter = 0; counter <= first_perfcntr; counter++) {
        if (!spex_counter_ready(&handlers, counter))
            spex_counter_open(&handlers, counter);
        spex_counter_read(&handlers, counter, &begin);
        spex_counter_read(&handlers, counter, &end);
    }
    spex_fetch_add_relaxed(&handled, errno == saved);
}

struct target {
    pthread_t thread;
    int stop;
};

static void *send_signals(void *argument) {
    struct target *target = argument;
    while (!spex_load_relaxed(&target->stop))
        pthread_kill(target->thread, SIGUSR1);
    return NULL;
}

static void handlers_interrupt_everything(void **state) {
    struct target target = {.thread = pthread_self()};
    struct sigaction action = {.sa_handler = probe_in_handler, .sa_flags = SA_RESTART}, before;
    pthread_t sender;
    (void)state;
    prepare_some();
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(pthread_create(&sender, NULL, send_signals, &target), 0);
    for (int i = 0; i < 300 || spex_load_relaxed(&handled) < 300; i++) {
        struct spex_reading reading;
        for (enum spex_counter counter = 0; counter <= first_perfcntr; counter++) {
            if (!spex_counter_ready(&handlers, counter))
                spex_counter_open(&handlers, counter);
            spex_counter_read(&handlers, counter, &reading);
            assert_true(reading.available || !spex_counter_cost(counter));
        }
        spex_counters_close(&handlers);
    }
    spex_store_relaxed(&target.stop, 1);
    assert_int_equal(pthread_join(sender, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    spex_counters_close(&handlers);
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_events_of_processors), /* before libpfm4 knows the processor */
        cmocka_unit_test(faults_by_records),
        cmocka_unit_test(faults_by_getrusage),
        cmocka_unit_test(switches_by_count),
        cmocka_unit_test(switches_by_records),
        cmocka_unit_test(switches_by_getrusage),
        cmocka_unit_test(chosen_events_by_read),
        cmocka_unit_test(time_of_the_thread),
        cmocka_unit_test(without_privileges),
        cmocka_unit_test(privileges_dropped_later),
        cmocka_unit_test(instruction_that_is_not_allowed),
        cmocka_unit_test(no_way_at_all),
        cmocka_unit_test(lists_of_ways),
        cmocka_unit_test(events_that_are_none),
        cmocka_unit_test(a_counter_without_event),
        cmocka_unit_test(events_of_the_processor),
        cmocka_unit_test(another_event),
        cmocka_unit_test(changes_while_threads_read),
        cmocka_unit_test(multiplexed_events_are_scaled),
        cmocka_unit_test(no_system_call_to_read),
        cmocka_unit_test(closed_descriptors),
        cmocka_unit_test(a_group_that_is_torn),
        cmocka_unit_test(no_descriptors_left),
        cmocka_unit_test(no_memory_to_lock),
        cmocka_unit_test(the_child_of_a_fork),
        cmocka_unit_test(threads_leave_nothing),
        cmocka_unit_test(handlers_interrupt_everything),
    };
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
