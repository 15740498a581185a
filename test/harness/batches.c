/* SPDX-License-Identifier: MIT */
/* What a batch of a benchmark's function tells of it, which events are counted, and what is found out
 * of the machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include <spex/bench.h>
#include <spex/ticks.h>

#include "../check.h"
#include "../unit/messages.h"
#include "base/clock.h"
#include "harness/events.h"
#include "harness/machine.h"

static int64_t fixture[1];

static void nothing(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        spex_bench_clobber();
    }
}

static void skipped(struct spex_bench_state *state) {
    spex_bench_skip(state, "");
    SPEX_BENCH_LOOP(state) {
        abort();
    }
}

/* A batch of a function, in this thread. */
static struct spex_bench_state batch_of(spex_bench_function *function, uint64_t iterations) {
    static const struct spex_bench_events none;
    const struct spex_benchmark family = {.function = function};
    const struct spex_bench_instance instance = {
        .family = &family, .threads = 3, .args = {4, 5, [SPEX_BENCH_PARAMETERS_MAX - 1] = 6}};
    struct spex_bench_state state = {
        .instance = &instance, .iterations = iterations, .thread = 2, .events = &none};
    spex_bench_state_run(&state);
    state.instance = NULL;
    return state;
}

static void tells(struct spex_bench_state *state) {
    assert_int_equal(spex_bench_arg(state, 0), 4);
    assert_int_equal(spex_bench_arg(state, 1), 5);
    assert_int_equal(spex_bench_arg(state, 2), 0);
    assert_int_equal(spex_bench_arg(state, SPEX_BENCH_PARAMETERS_MAX - 1), 6);
    assert_int_equal(spex_bench_arg(state, SPEX_BENCH_PARAMETERS_MAX), 0);
    assert_int_equal(spex_bench_thread(state), 2);
    assert_int_equal(spex_bench_threads(state), 3);
    assert_int_equal(spex_bench_iterations(state), 17);
    assert_null(spex_bench_fixture(state));
    spex_bench_set_fixture(state, fixture);
    assert_ptr_equal(spex_bench_fixture(state), fixture);
    uint64_t executed = 0;
    SPEX_BENCH_LOOP(state) {
        executed++;
    }
    assert_int_equal(executed, 17);
    spex_bench_bytes(state, 8);
    spex_bench_items(state, 9);
    for (int c = 0; c < SPEX_BENCH_COUNTERS_MAX; c++) {
        char name[] = "counter\n0";
        name[8] = (char)('0' + c);
        spex_bench_counter(state, name, c);
    }
    spex_bench_counter(state, "counter?3", 33);
}

TEST(test_what_a_batch_tells) {
    struct spex_bench_state batch = batch_of(tells, 17);
    assert_string_equal(batch.error, "");
    assert_true(batch.bytes == 8 && batch.items == 9);
    assert_int_equal(batch.own_count, SPEX_BENCH_COUNTERS_MAX);
    for (size_t c = 0; c < SPEX_BENCH_COUNTERS_MAX; c++) {
        char name[] = "counter?0";
        name[8] = (char)('0' + c);
        assert_string_equal(batch.own[c].name, name);
        assert_true(batch.own[c].sum == (c == 3 ? 33 : (double)c) && batch.own[c].count == 1);
    }
    assert_int_equal(batch.phase, SPEX_BENCH_ENDED);
    assert_true(batch.spent.real_ns > 0 && batch.spent.ticks > 0);
}

static void has_nine_figures(struct spex_bench_state *state) {
    tells(state);
    spex_bench_counter(state, "ninth", 1);
    spex_bench_skip(state, "a second reason");
}

static void has_long_name(struct spex_bench_state *state) {
    spex_bench_counter(state, "a name of thirty-one bytes, all", 1);
    assert_string_equal(state->error, "");
    spex_bench_counter(state, "a name of thirty-two bytes, all.", 1);
    nothing(state);
}

static void loops_twice(struct spex_bench_state *state) {
    nothing(state);
    nothing(state);
}

static void breaks(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        break;
    }
}

static void returns(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        return;
    }
}

static void skips(struct spex_bench_state *state) {
    spex_bench_skip(state, "no\tfile");
    nothing(state);
}

static void has_no_loop(struct spex_bench_state *state) {
    (void)state;
}

TEST(test_errors_of_a_batch) {
    static const char figures[] =
        "it has more than 8 figures of its own, or a name of more than 31 bytes";
    static const struct {
        spex_bench_function *function;
        const char *error;
    } cases[] = {{has_nine_figures, figures},
                 {has_long_name, figures},
                 {loops_twice, "it has a second SPEX_BENCH_LOOP"},
                 {breaks, "it has left its loop before the end"},
                 {returns, "it has left its loop before the end"},
                 {skips, "no?file"},
                 {skipped, "skipped"},
                 {has_no_loop, "it has no SPEX_BENCH_LOOP"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        assert_string_equal(batch_of(cases[c].function, 17).error, cases[c].error);
}

enum { SPENT_NS = 1000000 };

static struct spex_bench_time clocks_now(void) {
    return (struct spex_bench_time){(double)spex_clock_ns(CLOCK_MONOTONIC_RAW),
                                    (double)spex_clock_ns(CLOCK_THREAD_CPUTIME_ID),
                                    (double)spex_ticks()};
}

static void clocks_add(struct spex_bench_time *sum, const struct spex_bench_time *begun) {
    struct spex_bench_time now = clocks_now();
    sum->real_ns += now.real_ns - begun->real_ns;
    sum->cpu_ns += now.cpu_ns - begun->cpu_ns;
    sum->ticks += now.ticks - begun->ticks;
}

/* Uses the processor; adds how long to the time. */
static void spend(struct spex_bench_time *sum) {
    struct spex_bench_time begun = clocks_now();
    while (spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) < (uint64_t)begun.cpu_ns + SPENT_NS)
        continue;
    clocks_add(sum, &begun);
}

/* What the functions below have spent in their loops and in their pauses. */
static struct spex_bench_time running, paused;

static void pauses(struct spex_bench_state *state) {
    spex_bench_pause(state);
    spex_bench_resume(state);
    assert_int_equal(state->phase, SPEX_BENCH_BEFORE);
    SPEX_BENCH_LOOP(state) {
        spex_bench_resume(state);
        spend(&running);
        spex_bench_pause(state);
        spend(&paused);
        spex_bench_pause(state);
        spend(&paused);
        spex_bench_resume(state);
        spend(&running);
    }
    spex_bench_pause(state);
    spex_bench_resume(state);
}

static void ends_paused(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        spex_bench_resume(state);
        spend(&running);
        spex_bench_pause(state);
        spend(&paused);
    }
}

/* The times of all the batch, without its pauses; each clock's bounds are known, however late a
 * thread gets a processor. */
TEST(test_pauses) {
    static spex_bench_function *const functions[] = {pauses, ends_paused};
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        struct spex_bench_time begun = clocks_now(), all = {.ticks = 0};
        running = paused = all;
        struct spex_bench_state batch = batch_of(functions[f], 3);
        clocks_add(&all, &begun);
        assert_string_equal(batch.error, "");
        assert_int_equal(batch.phase, SPEX_BENCH_ENDED);
        assert_true(batch.spent.real_ns >= running.real_ns &&
                    batch.spent.real_ns <= all.real_ns - paused.real_ns);
        assert_true(batch.spent.cpu_ns >= running.cpu_ns &&
                    batch.spent.cpu_ns <= all.cpu_ns - paused.cpu_ns);
        assert_true(batch.spent.ticks >= running.ticks &&
                    batch.spent.ticks <= all.ticks - paused.ticks);
    }
}

static void test_single_iterations_of(spex_bench_function *function, bool limited, uint64_t clock) {
    static const struct spex_bench_events none;
    const struct spex_benchmark family = {.function = function};
    const struct spex_bench_instance instance = {.family = &family, .threads = 1};
    struct spex_histogram histogram = {0};
    const struct spex_bench_singles singles = {
        .histogram = &histogram, .clock_ticks = clock, .ticks_most = limited ? 1 : UINT64_MAX};
    struct spex_bench_state batch = {
        .instance = &instance, .iterations = 5, .events = &none, .singles = &singles};
    struct spex_bench_time begun = clocks_now(), all = {.ticks = 0};
    running = paused = all;
    spex_bench_state_run(&batch);
    clocks_add(&all, &begun);
    assert_string_equal(batch.error, "");
    assert_int_equal(batch.executed, limited ? 1 : 5);
    assert_int_equal(histogram.total, batch.executed);
    double least = spex_histogram_quantile(&histogram, 0),
           most = spex_histogram_quantile(&histogram, 1);
    /* A bucket's value differs from what is in it by some percents. */
    assert_true(clock || most >= 0.9 * running.ticks / (double)batch.executed);
    assert_true(clock || least <= 1.1 * (all.ticks - paused.ticks) / (double)batch.executed);
    assert_true(clock != UINT64_MAX || most == 0);
}

/* As many as there are to be, or as there is time for. Neither pauses nor the clock's own time are
 * in their times. */
TEST(test_single_iterations) {
    static spex_bench_function *const functions[] = {pauses, ends_paused};
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        test_single_iterations_of(functions[f], false, 0);
        test_single_iterations_of(functions[f], true, 0);
        test_single_iterations_of(functions[f], false, UINT64_MAX);
    }
}

TEST(test_events) {
    static struct spex_bench_events events;
    assert_int_equal(spex_bench_events_take(&events, NULL), 0);
    assert_int_equal(events.count, 0);
    assert_int_equal(spex_bench_events_take(&events, "switches,faults"), 0);
    assert_int_equal(events.count, 2);
    assert_string_equal(events.items[0].name, "switches");
    assert_int_equal(events.items[0].counter, SPEX_COUNTER_SWITCHES);
    assert_string_equal(events.items[1].name, "faults");
    assert_int_equal(events.items[1].counter, SPEX_COUNTER_FAULTS);
    assert_int_equal(events.items[0].value + events.items[1].value, 0);
    static const char twelve[] = "faults,faults,faults,faults,faults,faults,faults,faults,faults,"
                                 "faults,faults,faults,faults";
    char text[sizeof(twelve)];
    memcpy(text, twelve, sizeof(twelve));
    text[sizeof(twelve) - sizeof(",faults")] = '\0';
    assert_int_equal(spex_bench_events_take(&events, text), 0);
    assert_int_equal(events.count, SPEX_BENCH_EVENTS_MAX);
    messages_begin();
    int err = spex_bench_events_take(&events, twelve);
    assert_non_null(strstr(messages_end(),
                           "spex: --benchmark_perf_counters: 12 events at most were expected\n"));
    assert_int_equal(err, -E2BIG);
}

/* The first line of a file of the first processor's cache. */
static bool cache_line(int index, const char *name, char *line, int size) {
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "r");
    bool here = file && fgets(line, size, file);
    if (file)
        fclose(file);
    if (here)
        line[strcspn(line, "\n")] = '\0';
    return here;
}

/* How many processors are in "0-3,8". */
static unsigned processors_in(const char *list) {
    unsigned count = 0;
    for (char *end; *list; list = *end == ',' ? end + 1 : end) {
        long from = strtol(list, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        count += (unsigned)(to - from + 1);
    }
    return count;
}

/* Whether the first processor's line of /proc/cpuinfo with this label has the word; of a label alone
 * whether there is such a line. */
static bool processor_has(const char *label, const char *word) {
    char *line = NULL, with[64];
    size_t room = 0;
    bool has = false, here = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(with, sizeof(with), " %s ", word);
    while (file && !here && getline(&line, &room, file) > 0) {
        here = strncmp(line, label, strlen(label)) == 0;
        line[strcspn(line, "\n")] = ' ';
        has = here && (!*word || strstr(line, with));
    }
    if (file)
        fclose(file);
    free(line);
    return has;
}

TEST(test_processor) {
    static struct spex_bench_machine machine;
    double before[3], after[3];
    char governor[64] = "";
    assert_int_equal(getloadavg(before, 3), 3);
    spex_bench_machine_find(&machine);
    assert_int_equal(getloadavg(after, 3), 3);
    for (int l = 0; l < 3; l++)
        assert_true(machine.load[l] == before[l] || machine.load[l] == after[l]);
    assert_int_equal(machine.mhz > 0, processor_has("cpu MHz", ""));
    assert_int_equal(machine.virtual, processor_has("flags", "hypervisor"));
#if defined(__x86_64__)
    assert_int_equal(machine.invariant_ticks, processor_has("flags", "constant_tsc") &&
                                                  processor_has("flags", "nonstop_tsc"));
#endif
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "r");
    bool told = file && fgets(governor, sizeof(governor), file);
    if (file)
        fclose(file);
    assert_int_equal(machine.scaling, told && strcmp(governor, "performance\n") != 0);
}

/* As the system tells elsewhere. */
TEST(test_machine) {
    static struct spex_bench_machine machine;
    char text[4096] = "";
    cpu_set_t ours;
    spex_bench_machine_find(&machine);
    gethostname(text, sizeof(text) - 1);
    assert_string_equal(machine.host, text);
    assert_string_equal(strrchr(machine.executable, '/'), "/harness-batches");
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    assert_int_equal(machine.cpus, CPU_COUNT(&ours));
    size_t count = 0;
    for (int index = 0; index < SPEX_BENCH_CACHES_MAX; index++) {
        const struct spex_bench_cache *cache = &machine.caches[count];
        if (!cache_line(index, "size", text, sizeof(text)))
            continue;
        assert_true(count++ < machine.cache_count);
        unsigned long factor = strchr(text, 'K') ? 1024 : strchr(text, 'M') ? 1048576 : 1;
        assert_int_equal(cache->bytes, strtoul(text, NULL, 10) * factor);
        assert_true(cache_line(index, "type", text, sizeof(text)));
        assert_string_equal(cache->type, text);
        assert_true(cache_line(index, "level", text, sizeof(text)));
        assert_int_equal(cache->level, strtoul(text, NULL, 10));
        if (cache_line(index, "shared_cpu_list", text, sizeof(text)) && processors_in(text) < 200)
            assert_int_equal(cache->sharing, processors_in(text));
    }
    assert_int_equal(machine.cache_count, count);
    assert_true(spex_bench_others() == 0);
    spend(&running);
    double others = spex_bench_others();
    assert_true(others >= 0 && others <= 1);
}
