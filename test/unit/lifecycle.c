/* SPDX-License-Identifier: MIT */
/* Start, switch, stop, and start again; what a fork leaves to parent and child; libraries with
 * probes that come and go. The first test wants a process in which spex has never collected. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "messages.h"
#include "plugin.h"
#include "site/registry.h"

enum { WORK = 1, PLUGIN = 21 };
enum { RECORDERS = 4, FORKS = 40 };

SPEX_PROBE_NAME(WORK, "life.work");

/* ThreadSanitizer would end a child of a program with threads that starts threads itself. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0";
}

static const char *plugin_path;

__attribute__((noinline)) static void work(unsigned times) {
    while (times-- > 0) {
        CNT_PROBE_BEGIN(WORK, 1);
        CNT_PROBE_END(WORK);
    }
}

static struct spex_status status(void) {
    struct spex_status now = {.size = sizeof(now)};
    if (spex_status_get(&now) != 0)
        abort();
    return now;
}

static struct spex_options options_for(const char *probes) {
    return (struct spex_options){.size = sizeof(struct spex_options),
                                 .probes = probes,
                                 .out = "/dev/null",
                                 .ring_records = 65536};
}

static int start(const char *probes) {
    const struct spex_options options = options_for(probes);
    return spex_start(&options);
}

/* The process's threads that are so called, NULL: all; *last is one of them. */
static unsigned threads_find(const char *name, pid_t *last) {
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *comm = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (!comm)
            continue; /* or the thread has just ended */
        if (fgets(line, sizeof(line), comm))
            line[strcspn(line, "\n")] = '\0';
        fclose(comm);
        if (name && strcmp(line, name) != 0)
            continue;
        *last = (pid_t)strtol(entry->d_name, NULL, 10);
        count++;
    }
    closedir(tasks);
    return count;
}

static unsigned thread_count(const char *name) {
    pid_t last;
    return threads_find(name, &last);
}

/* Counts records of one probe, made by the process itself. */
struct tally {
    uint16_t probe_id;
    uint64_t count;
    uint64_t weight; /* executions that they stand for */
    uint64_t others;
};

static void tally_see(const struct spex_record *record, void *context) {
    struct tally *tally = context;
    if (record->probe_id == tally->probe_id) {
        tally->count++;
        tally->weight += record->weight;
    } else {
        tally->others++;
    }
}

static void without_a_selection_nothing_starts(void **state) {
    (void)state;
    unsigned threads = thread_count(NULL);
    assert_int_equal(spex_start(NULL), 0);
    assert_int_equal(thread_count(NULL), threads);
    work(10);
    struct spex_status now = status();
    assert_int_equal(now.collectors, 0);
    assert_int_equal(now.sites_on, 0);
    assert_int_equal(now.produced, 0);
    assert_int_equal(now.ring_bytes, 0);
    assert_true(now.sites > 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(thread_count(NULL), threads);
}

static void a_selection_can_come_later(void **state) {
    (void)state;
    assert_int_equal(start(NULL), 0);
    assert_int_equal(thread_count("spex-collector"), 0);
    assert_int_equal(spex_set("life.work"), 1);
    assert_int_equal(thread_count("spex-collector"), 1);
    struct spex_status before = status();
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
    assert_int_equal(status().collectors, 1);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(status().collectors, 0);
    assert_int_equal(status().produced, before.produced + 20);
}

static void it_starts_once(void **state) {
    (void)state;
    assert_int_equal(start("life.work"), 0);
    assert_int_equal(start("life.work"), -EALREADY);
    assert_int_equal(start(NULL), -EALREADY);
    assert_int_equal(status().collectors, 1);
    spex_stop();
}

static void unstarted_it_cannot_be_set(void **state) {
    (void)state;
    assert_int_equal(spex_set("life.work"), -EPERM);
    assert_int_equal(status().sites_on, 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(spex_stop(), 0);
}

static void it_starts_again_after_a_stop(void **state) {
    (void)state;
    struct spex_status before = status();
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
    struct spex_status now = status();
    assert_int_equal(now.produced, before.produced + 55);
    assert_int_equal(now.consumed, before.consumed + 55);
    assert_int_equal(now.lost, before.lost);
    assert_int_equal(now.pending, 0);
}

/* 999 executions of a period of 1000 make no record, and are forgotten with the switching off,
 * whether the probe or all of spex is switched. */
static void counts_do_not_go_on_over_a_switching_off(void **state) {
    struct tally tally = {.probe_id = WORK};
    (void)state;
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

static void counts_go_on_over_a_change_of_period(void **state) {
    struct tally tally = {.probe_id = WORK};
    (void)state;
    capture_start(tally_see, &tally);
    assert_int_equal(start("life.work@1000"), 0);
    work(999);
    assert_int_equal(spex_set("life.work@2000"), 1);
    work(999);
    assert_int_equal(spex_set("life.work@1"), 1);
    work(1);
    spex_stop();
    assert_int_equal(tally.count, 1);
    assert_int_equal(tally.weight, 1999);
}

static void expect_refused(const struct spex_options *options, int err, const char *message) {
    messages_begin();
    int got = spex_start(options);
    const char *text = messages_end();
    assert_int_equal(got, err);
    if (!strstr(text, message))
        fail_msg("\"%s\" is not in \"%s\"", message, text);
    assert_int_equal(status().collectors, 0);
    assert_int_equal(status().sites_on, 0);
    assert_int_equal(spex_set("life.work"), -EPERM);
    assert_int_equal(start("life.work"), 0);
    spex_stop();
}

static void bad_options_are_refused(void **state) {
    struct spex_options options;
    (void)state;
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
    EXPECT_REFUSED(out, "/nowhere/at/all", -ENOENT, "/nowhere/at/all");
    EXPECT_REFUSED(out, "unix:/nowhere/at/all", -ENOENT, "/nowhere/at/all");
    EXPECT_REFUSED(rate_policy, "no policy", -EINVAL, "fair, budget, fixed or hybrid was expected");
    EXPECT_REFUSED(rate_policy, "/nowhere/at/all", -EINVAL, "a shared object was expected");
#undef EXPECT_REFUSED
}

static void bad_variables_are_refused(void **state) {
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
        {"SPEX_PROBES", "life.work:nothing", "perfcntr or snapshot"},
        {"SPEX_OUT", "/nowhere/at/all", "/nowhere/at/all"},
        {"SPEX_RATE_POLICY", "best", "fair, budget, fixed or hybrid was expected"},
        {"SPEX_RATE_POLICY", "/nowhere/at/all", "a shared object was expected"},
    };
    const struct spex_options options = options_for("life.work");
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        setenv(bad[i].name, bad[i].value, 1);
        messages_begin();
        int got = spex_start(&options);
        const char *text = messages_end();
        unsetenv(bad[i].name);
        if (got >= 0 || !strstr(text, bad[i].message) || !strstr(text, "spex: "))
            fail_msg("%s=%s: %d, \"%s\"", bad[i].name, bad[i].value, got, text);
        assert_int_equal(status().collectors, 0);
        assert_int_equal(start(NULL), 0);
        spex_stop();
    }
}

static void the_user_has_the_last_word(void **state) {
    (void)state;
    setenv("SPEX_COLLECTORS", "3", 1);
    setenv("SPEX_PROBES", "nobody", 1);
    messages_begin();
    assert_int_equal(start("life.work"), 0);
    const char *text = messages_end();
    unsetenv("SPEX_COLLECTORS");
    unsetenv("SPEX_PROBES");
    assert_non_null(strstr(text, "no probe matches \"nobody\""));
    assert_non_null(strstr(text, "there are: life.work:"));
    assert_int_equal(status().collectors, 3);
    assert_int_equal(status().sites_on, 0);
    spex_stop();
}

static void a_bad_selection_leaves_the_old_one(void **state) {
    (void)state;
    assert_int_equal(start("life.work"), 0);
    messages_begin();
    int got = spex_set("life.work,:late");
    const char *text = messages_end();
    assert_int_equal(got, -EINVAL);
    assert_non_null(strstr(text, "was expected"));
    assert_int_equal(status().sites_on, 1);
    spex_stop();
}

static void expect_selected(const char *expected) {
    char text[64];
    assert_int_equal(spex_sites_selection(text, sizeof(text)), 0);
    assert_string_equal(text, expected);
}

static void items_are_added_to_a_selection(void **state) {
    (void)state;
    assert_int_equal(start("off"), 0);
    assert_int_equal(status().collectors, 0);
    expect_selected("off");
    assert_int_equal(spex_set("*@off"), 0);
    assert_int_equal(status().collectors, 0); /* for nothing that is on */
    assert_int_equal(spex_set("+life.work"), 1);
    assert_int_equal(status().collectors, 1);
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

static void too_much_is_not_added(void **state) {
    char many[16384] = "life.work";
    size_t length = strlen(many);
    (void)state;
    for (unsigned i = 1; i < 1024; i++)
        length += (size_t)snprintf(many + length, sizeof(many) - length, ",%u@off", 1000 + i);
    messages_begin(); /* most of them match nothing */
    int err = start(many);
    messages_end();
    assert_int_equal(err, 0);
    assert_int_equal(status().sites_on, 1);
    messages_begin();
    int got = spex_set("+:lat");
    const char *text = messages_end();
    assert_int_equal(got, -E2BIG);
    assert_non_null(strstr(text, "probe selection: stays as it was: "));
    assert_int_equal(status().sites_on, 1);
    assert_int_equal(spex_set("+life.work@off"), 0); /* in the place of another */
    spex_stop();
}

static void a_status_of_another_size_is_refused(void **state) {
    struct spex_status now = {.size = sizeof(now) - 8};
    (void)state;
    assert_int_equal(spex_status_get(&now), -EINVAL);
}

/* The child's half of a fork; its exit code says what is wrong. */
static int child_checks(unsigned times) {
    struct tally tally = {.probe_id = WORK};
    struct spex_status at_fork = status();
    if (at_fork.collectors != 0 || at_fork.sites_on != 0)
        return 10;
    work(5);
    if (status().produced != 0 || status().pending != 0)
        return 11;
    if (spex_set("life.work") != -EPERM)
        return 12;
    if (getenv("TEST_EMULATED")) /* main says why */
        return 0;
    capture_start(tally_see, &tally);
    if (start("life.work") != 0)
        return 13;
    if (status().sites_on != 1 || status().collectors != 1)
        return 14;
    work(times);
    spex_stop();
    struct spex_status now = status();
    if (tally.count != times || tally.others != 0)
        return 15;
    if (now.produced != now.consumed + now.lost || now.pending != 0)
        return 16;
    if (now.produced != times)
        return 17;
    return 0;
}

static void fork_and_check(unsigned times) {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
    print_message("skipped: gcc's ThreadSanitizer dies when the child of a fork starts threads\n");
    (void)times;
    return;
#endif
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(child_checks(times));
    int result;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        fail_msg("the child has ended with 0x%x", (unsigned)result);
}

static void a_fork_splits_off_a_clean_child(void **state) {
    struct tally tally = {.probe_id = WORK};
    (void)state;
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
static void a_child_does_not_inherit_records(void **state) {
    struct tally tally = {.probe_id = WORK};
    struct spex_options options = options_for("life.work");
    (void)state;
    options.batch_records = 1;
    pthread_mutex_lock(&gate);
    capture_start(gated_see, &tally);
    assert_int_equal(spex_start(&options), 0);
    work(100);
    assert_true(status().pending >= 99);
    fork_and_check(7);
    pthread_mutex_unlock(&gate);
    spex_stop();
    assert_int_equal(tally.count, 100);
}

static void a_fork_of_a_stopped_program_is_clean_too(void **state) {
    (void)state;
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

static void forks_while_threads_record(void **state) {
    pthread_t threads[RECORDERS];
    uint64_t executed[RECORDERS] = {0}, sum = 0;
    struct spex_status before = status();
    (void)state;
    assert_int_equal(start("life.work"), 0);
    spex_store_relaxed(&recording, true);
    pthread_barrier_init(&all_recording, NULL, RECORDERS + 1);
    for (unsigned t = 0; t < RECORDERS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, recorder_run, &executed[t]), 0);
    /* By now no thread allocates any more: AddressSanitizer's heap does not survive a fork during
     * it. */
    pthread_barrier_wait(&all_recording);
    while (status().consumed == before.consumed)
        sched_yield();
    for (unsigned f = 0; f < FORKS; f++)
        fork_and_check(f);
    spex_store_relaxed(&recording, false);
    for (unsigned t = 0; t < RECORDERS; t++) {
        pthread_join(threads[t], NULL);
        sum += executed[t];
    }
    spex_stop();
    struct spex_status now = status();
    assert_int_equal(now.produced, before.produced + sum);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_int_equal(now.pending, 0);
}

static void *plugin_load(unsigned (**run)(unsigned)) {
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(plugin, "plugin_work");
    assert_non_null(symbol);
    memcpy(run, &symbol, sizeof(*run));
    return plugin;
}

static void a_library_obeys_the_selection_made_before_it_came(void **state) {
    struct tally tally = {.probe_id = PLUGIN};
    unsigned (*run)(unsigned);
    (void)state;
    capture_start(tally_see, &tally);
    messages_begin();
    assert_int_equal(start("plugin.*:lat"), 0);
    assert_non_null(strstr(messages_end(), "no probe matches"));
    const uint32_t before = status().sites;
    for (unsigned round = 0; round < 20; round++) {
        uint32_t sites = status().sites;
        void *plugin = plugin_load(&run);
        /* The compiler may have made several sites of a probe; loaded again, they are the same. */
        assert_true(round == 0 ? status().sites >= sites + 2 : status().sites == sites);
        assert_in_range(status().sites_on, 1, status().sites - before - 1);
        assert_int_equal(run(10), 10);
        assert_int_equal(dlclose(plugin), 0);
        assert_int_equal(status().sites_on, 0);
    }
    spex_stop();
    assert_int_equal(tally.count, 200);
    assert_int_equal(tally.others, 0);
}

static bool sleeps(pid_t thread) {
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
    FILE *stat = fopen(path, "re");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
    fclose(stat);
    return state == 'S';
}

/* With every probe off, collectors sleep without a limit. */
static void a_library_that_comes_while_all_is_off_is_collected(void **state) {
    struct spex_status before = status();
    unsigned (*run)(unsigned);
    pid_t collector;
    (void)state;
    messages_begin();
    assert_int_equal(start("plugin.work"), 0);
    messages_end();
    assert_int_equal(threads_find("spex-collector", &collector), 1);
    while (!sleeps(collector))
        sched_yield();
    void *plugin = plugin_load(&run);
    uint64_t executed = run(100);
    alarm(60);
    while (status().consumed - before.consumed < executed)
        sched_yield();
    alarm(0);
    spex_stop();
    assert_int_equal(dlclose(plugin), 0);
}

/* A span whose site was off, or not of this generation, when it was looked at again. */
static void an_end_of_a_probe_that_is_off_makes_no_record(void **state) {
    struct spex_site off = {.subsample = 1, .type_number = SPEX_TYPE_NUMBER_(SPEX_LAT)};
    struct spex_status before = status();
    (void)state;
    assert_int_equal(start("life.work"), 0);
    work(1);
    spex_lat_end(&off, 1, 1, 2);
    off.control = 2u << SPEX_CONTROL_GENERATION_SHIFT | 1;
    spex_lat_end(&off, 1u << SPEX_CONTROL_GENERATION_SHIFT | 1, 1, 2);
    spex_stop();
    assert_int_equal(status().produced - before.produced, 1);
}

static void rings_of_another_size_are_refused_aloud(void **state) {
    struct spex_options options = options_for("life.work");
    (void)state;
    assert_int_equal(start("life.work"), 0);
    spex_stop();
    options.ring_records = 16;
    messages_begin();
    assert_int_equal(spex_start(&options), 0);
    assert_non_null(strstr(messages_end(), "rings stay as this process first made them"));
    spex_stop();
}

static void a_library_can_be_unloaded_when_spex_has_stopped(void **state) {
    struct tally tally = {.probe_id = PLUGIN};
    unsigned (*run)(unsigned);
    (void)state;
    void *plugin = plugin_load(&run);
    run(10);
    capture_start(tally_see, &tally);
    assert_int_equal(start("plugin.work"), 0);
    run(10);
    spex_stop();
    run(10);
    assert_int_equal(dlclose(plugin), 0);
    assert_int_equal(tally.count, 20);
}

static void collectors_of_a_real_time_thread_are_ordinary(void **state) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    const struct sched_param none = {.sched_priority = 0};
    pid_t collector;
    (void)state;
    int err = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
    if (err) {
        print_message("skipped: no real-time thread: %s\n", strerror(err));
        skip();
    }
    int started = start("life.work");
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    assert_int_equal(started, 0);
    assert_int_equal(threads_find("spex-collector", &collector), 1);
    assert_int_equal(sched_getscheduler(collector), SCHED_OTHER);
    spex_stop();
}

static int stop(void **state) {
    (void)state;
    return spex_stop();
}

/* The reference to the setting function is weak, as all of a program's to spex, and a static library
 * gives nothing for weak references. */
static void a_performance_counter_can_be_set(void **state) {
    (void)state;
    assert_int_equal(SET_PERFCNTR(SPEX_PERFCNTRS, 0xc0, 0), -EINVAL);
    assert_int_equal(SET_PERFCNTR_NAME(SPEX_PERFCNTRS, "perf::TASK-CLOCK"), -EINVAL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_selection_nothing_starts, stop),
        cmocka_unit_test_teardown(a_selection_can_come_later, stop),
        cmocka_unit_test_teardown(it_starts_once, stop),
        cmocka_unit_test_teardown(unstarted_it_cannot_be_set, stop),
        cmocka_unit_test_teardown(it_starts_again_after_a_stop, stop),
        cmocka_unit_test_teardown(counts_do_not_go_on_over_a_switching_off, stop),
        cmocka_unit_test_teardown(counts_go_on_over_a_change_of_period, stop),
        cmocka_unit_test_teardown(bad_options_are_refused, stop),
        cmocka_unit_test_teardown(bad_variables_are_refused, stop),
        cmocka_unit_test_teardown(the_user_has_the_last_word, stop),
        cmocka_unit_test_teardown(a_bad_selection_leaves_the_old_one, stop),
        cmocka_unit_test_teardown(items_are_added_to_a_selection, stop),
        cmocka_unit_test_teardown(too_much_is_not_added, stop),
        cmocka_unit_test_teardown(a_status_of_another_size_is_refused, stop),
        cmocka_unit_test_teardown(a_fork_splits_off_a_clean_child, stop),
        cmocka_unit_test_teardown(a_child_does_not_inherit_records, stop),
        cmocka_unit_test_teardown(a_fork_of_a_stopped_program_is_clean_too, stop),
        cmocka_unit_test_teardown(forks_while_threads_record, stop),
        cmocka_unit_test_teardown(a_library_obeys_the_selection_made_before_it_came, stop),
        cmocka_unit_test_teardown(a_library_that_comes_while_all_is_off_is_collected, stop),
        cmocka_unit_test_teardown(an_end_of_a_probe_that_is_off_makes_no_record, stop),
        cmocka_unit_test_teardown(rings_of_another_size_are_refused_aloud, stop),
        cmocka_unit_test_teardown(a_library_can_be_unloaded_when_spex_has_stopped, stop),
        cmocka_unit_test_teardown(a_performance_counter_can_be_set, stop),
        cmocka_unit_test_teardown(collectors_of_a_real_time_thread_are_ordinary, stop),
    };
    if (argc != 2)
        return 2;
    plugin_path = argv[1];
    if (getenv("TEST_EMULATED"))
        puts("SKIP: of a fork's child the start: the emulator (QEMU 7.2) ends a child that starts "
             "threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
