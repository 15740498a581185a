/* SPDX-License-Identifier: MIT */
/* Which events are asked for, by what codes on which processor; and where the system permits none,
 * or not the kernel's part: each way as it can still count, and no more. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#include <errno.h>
#include <linux/perf_event.h>

#include <spex/probe.h>

#include "../check.h"
#include "counters/event.h"
#include "counters/plan.h"
#include "counters/prepare.h"
#include "counters/way_trial.h"
#include "messages.h"

enum { TRIES_MAX = 16 };

/* The ways that were tried, in order. */
static struct {
    enum spex_way way;
    bool user_only;
    struct spex_counter_plan plan;
} tries[TRIES_MAX];
static size_t try_count;
static int refusal;
static struct spex_processor processor = {.vendor = SPEX_VENDOR_OTHER};

struct spex_processor __wrap_spex_processor_here(void);
struct spex_processor __real_spex_processor_here(void);

struct spex_processor __wrap_spex_processor_here(void) {
    return processor;
}

int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step);
int __real_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step);

/* getrusage needs no event; all others are refused. */
int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step) {
    assert_true(try_count < TRIES_MAX);
    tries[try_count].way = way;
    tries[try_count].plan = *plan;
    tries[try_count++].user_only = plan->codes[0].exclude & SPEX_EXCLUDE_KERNEL;
    *step = "perf_event_open";
    return way == SPEX_WAY_RUSAGE ? __real_spex_event_open(event, plan, way, step) : refusal;
}

/* What a read takes in the two ways of hardware counters, where the machine has them. */
static uint64_t instruction_cost, call_cost;

uint64_t __wrap_spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err);
uint64_t __real_spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err);

uint64_t __wrap_spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err) {
    uint64_t cost = way == SPEX_WAY_RDPMC ? instruction_cost : way == SPEX_WAY_READ ? call_cost : 0;
    if (!instruction_cost && !call_cost)
        return __real_spex_way_try(trial, way, err);
    *err = cost ? 0 : -ENODATA;
    snprintf(trial->why, sizeof(trial->why), "why");
    return cost;
}

static const char *prepared(enum spex_counter counter, const char *list, int err, int result) {
    static char text[600];
    try_count = 0;
    refusal = err;
    assert_int_equal(spex_counters_allow("none"), 0);
    assert_int_equal(spex_counters_allow(list), 0);
    messages_begin();
    assert_int_equal(spex_counters_prepare(counter), result);
    (void)messages_end();
    spex_counters_describe(counter, text, sizeof(text));
    return text;
}

static void expect_try(size_t number, enum spex_way way, bool user_only) {
    assert_true(number < try_count);
    assert_int_equal(tries[number].way, way);
    assert_int_equal(tries[number].user_only, user_only);
}

/* Faults of the program alone are better than none; without a privilege they are asked for next. */
TEST(faults_in_user_mode_come_next) {
    static const int refusals[] = {-EACCES, -EPERM};
    for (size_t r = 0; r < COUNT_OF(refusals); r++) {
        const char *text = prepared(SPEX_COUNTER_FAULTS, NULL, refusals[r], 0);
        assert_int_equal(try_count, 3);
        expect_try(0, SPEX_WAY_FAULT_RECORDS, false);
        expect_try(1, SPEX_WAY_FAULT_RECORDS, true);
        expect_try(2, SPEX_WAY_RUSAGE, false);
        assert_non_null(strstr(text, "page faults by getrusage; not by the head of a ring"));
        assert_non_null(strstr(text, strerror(-refusals[r])));
        assert_null(strstr(text, "user mode"));
    }
}

/* Less is not permitted either where it is no question of privileges. */
TEST(other_errors_are_final) {
    prepared(SPEX_COUNTER_FAULTS, NULL, -ENOSYS, 0);
    assert_int_equal(try_count, 2);
    expect_try(0, SPEX_WAY_FAULT_RECORDS, false);
    expect_try(1, SPEX_WAY_RUSAGE, false);
}

/* They happen in the kernel. */
TEST(switches_are_not_asked_for_in_user_mode) {
    const char *text = prepared(SPEX_COUNTER_SWITCHES, NULL, -EACCES, 0);
    assert_int_equal(try_count, 3);
    expect_try(0, SPEX_WAY_SWITCH_COUNT, false);
    expect_try(1, SPEX_WAY_SWITCH_RECORDS, false);
    expect_try(2, SPEX_WAY_RUSAGE, false);
    /* Equal reasons are said once. */
    assert_non_null(strstr(text, "; nor by the head of a ring with two records"));
}

/* Ways that SPEX_COUNTERS does not allow are not tried at all, whatever its reason is called. */
TEST(only_what_is_allowed) {
    prepared(SPEX_COUNTER_FAULTS, "rusage", -EACCES, 0);
    assert_int_equal(try_count, 1);
    expect_try(0, SPEX_WAY_RUSAGE, false);
    prepared(SPEX_COUNTER_SWITCHES, "switch-records", -EACCES, -EPERM);
    assert_int_equal(try_count, 1);
    expect_try(0, SPEX_WAY_SWITCH_RECORDS, false);
}

/* An event that its user has restricted to user mode is asked for once in each way. */
TEST(what_is_in_user_mode_already) {
    const enum spex_counter first = SPEX_COUNTER_PERFCNTR;
    struct spex_choice choice = {.events = 1, .codes = {{.type = 1, .config = 2}}};
    for (int user_only = 0; user_only < 2; user_only++) {
        choice.codes[0].exclude = user_only ? SPEX_EXCLUDE_KERNEL : 0;
        try_count = 0;
        refusal = -EACCES;
        assert_int_equal(spex_counters_allow("rdpmc,read"), 0);
        messages_begin();
        spex_perfcntr_replace(0, &choice);
        assert_int_equal(spex_counters_prepare(first), -EACCES);
        (void)messages_end();
        assert_int_equal(try_count, user_only ? 2 : 4);
        for (size_t t = 0; t < try_count; t++)
            expect_try(t,
                       user_only ? (t ? SPEX_WAY_READ : SPEX_WAY_RDPMC)
                                 : (t < 2 ? SPEX_WAY_RDPMC : SPEX_WAY_READ),
                       user_only || t % 2);
    }
}

/* The cheaper one of the instruction and the system call; the instruction where they are alike. */
TEST(the_cheaper_way_is_used) {
    static const struct {
        uint64_t instruction, call, cost;
        const char *text;
    } cases[] = {
        {30, 900, 30, " by the processor's instruction"},
        {900, 30, 30, " by read() on the event"},
        {50, 50, 50, " by the processor's instruction"},
        {0, 70, 70, " by read() on the event; not by the processor's instruction: why"},
        {70, 0, 70, " by the processor's instruction; not by read() on the event: why"},
    };
    const struct spex_choice choice = {
        .events = 1, .codes = {{.type = 1, .config = 2}}, .text = "an event"};
    char text[400], expected[400];
    spex_perfcntr_replace(1, &choice);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const enum spex_counter counter = (enum spex_counter)(SPEX_COUNTER_PERFCNTR + 1);
        instruction_cost = cases[c].instruction;
        call_cost = cases[c].call;
        assert_int_equal(spex_counters_allow("none"), 0);
        assert_int_equal(spex_counters_allow(NULL), 0);
        assert_int_equal(spex_counters_prepare(counter), 0);
        assert_int_equal(spex_counter_cost(counter), cases[c].cost);
        spex_counters_describe(counter, text, sizeof(text));
        snprintf(expected, sizeof(expected), "performance counter 1: an event%s", cases[c].text);
        assert_string_equal(text, expected);
    }
    instruction_cost = call_cost = 0;
}

#if defined(__x86_64__)

/* Says what the first way was to count, of all those that are refused. */
static const struct spex_counter_plan *asked_for(enum spex_counter counter) {
    assert_int_equal(spex_counters_allow("none"), 0);
    assert_int_equal(spex_counters_allow("read"), 0);
    try_count = 0;
    refusal = -EACCES;
    messages_begin();
    assert_int_equal(spex_counters_prepare(counter), -EACCES);
    (void)messages_end();
    assert_true(try_count > 0);
    return &tries[0].plan;
}

/* AMD's event numbers have 12 bits, of which the upper ones are elsewhere. */
TEST(events_by_code) {
    static const struct {
        enum spex_vendor vendor;
        uint64_t event, mask, config; /* 0: refused */
    } cases[] = {
        {SPEX_VENDOR_INTEL, 0xc0, 0, 0xc0},
        {SPEX_VENDOR_INTEL, 0xff, 0xabcdef, 0xabcdefff},
        {SPEX_VENDOR_INTEL, 0x100, 0, 0},
        {SPEX_VENDOR_INTEL, 0xc0, 0x1000000, 0},
        {SPEX_VENDOR_OTHER, 0x100, 0, 0},
        {SPEX_VENDOR_AMD, 0x12c, 0x34, 0x10000342c},
        {SPEX_VENDOR_AMD, 0xfff, 0xffffff, 0xfffffffff},
        {SPEX_VENDOR_AMD, 0x1000, 0, 0},
    };
    char text[400], is[400];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        try_count = 0;
        processor.vendor = cases[c].vendor;
        messages_begin();
        int err = spex_perfcntr_set(5, cases[c].event, cases[c].mask);
        const char *messages = messages_end();
        snprintf(
            text, sizeof(text),
            "spex: performance counter 5: this processor has no code of event %#llx, mask %#llx",
            (unsigned long long)cases[c].event, (unsigned long long)cases[c].mask);
        assert_int_equal(strstr(messages, text) != NULL, !cases[c].config);
        if (!cases[c].config) {
            assert_int_equal(err, -EINVAL);
            continue;
        }
        const enum spex_counter counter = (enum spex_counter)(SPEX_COUNTER_PERFCNTR + 5);
        const struct spex_counter_plan *plan = asked_for(counter);
        assert_int_equal(plan->events, 1);
        assert_int_equal(plan->codes[0].type, PERF_TYPE_RAW);
        assert_int_equal(plan->codes[0].config, cases[c].config);
        assert_int_equal(plan->codes[0].config1 | plan->codes[0].config2, 0);
        snprintf(text, sizeof(text),
                 "performance counter 5 not available here: raw event %#llx, mask %#llx; not by ",
                 (unsigned long long)cases[c].event, (unsigned long long)cases[c].mask);
        spex_counters_describe(counter, is, sizeof(is));
        is[strlen(text)] = '\0';
        assert_string_equal(is, text);
    }
}

/* By the processor's codes, and where these cannot be had, by the kernel's, if it has them. */
TEST(events_of_the_cache) {
    static const struct {
        struct spex_processor processor;
        unsigned candidates;
        uint64_t references, misses;
        const char *text;
    } cases[] = {
        {{SPEX_VENDOR_INTEL, 6, 0x8f}, 2, 0x4f2e, 0x412e, "here: the kernel's PERF_COUNT_HW_"},
        {{SPEX_VENDOR_AMD, 0x19, 0x61}, 1, 0xde44, 0xdc44, "here: ANY_DATA_CACHE_FILLS_FROM_"},
        {{SPEX_VENDOR_AMD, 0x17, 0x01}, 0, 0, 0, "here: no events known for this processor"},
        {{SPEX_VENDOR_INTEL, 15, 1}, 1, 0, 0, "here: the kernel's PERF_COUNT_HW_"},
    };
    char text[400];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        processor = cases[c].processor;
        assert_int_equal(spex_counters_allow("none"), 0);
        assert_int_equal(spex_counters_allow("read"), 0);
        try_count = 0;
        refusal = -EINVAL;
        messages_begin();
        assert_int_equal(spex_counters_prepare(SPEX_COUNTER_LLC),
                         cases[c].candidates ? -EINVAL : -ENOENT);
        (void)messages_end();
        spex_counters_describe(SPEX_COUNTER_LLC, text, sizeof(text));
        assert_non_null(strstr(text, "last-level cache not available "));
        assert_non_null(strstr(text, cases[c].text));
        size_t number = 0;
        if (cases[c].references) {
            const struct spex_counter_plan *plan = &tries[number++].plan;
            assert_int_equal(plan->events, 2);
            assert_int_equal(plan->codes[0].type, PERF_TYPE_RAW);
            assert_int_equal(plan->codes[1].type, PERF_TYPE_RAW);
            assert_int_equal(plan->codes[0].config, cases[c].references);
            assert_int_equal(plan->codes[1].config, cases[c].misses);
        }
        if (number < cases[c].candidates) {
            const struct spex_counter_plan *plan = &tries[number++].plan;
            assert_int_equal(plan->events, 2);
            assert_int_equal(plan->codes[0].type, PERF_TYPE_HARDWARE);
            assert_int_equal(plan->codes[1].type, PERF_TYPE_HARDWARE);
            assert_int_equal(plan->codes[0].config, PERF_COUNT_HW_CACHE_REFERENCES);
            assert_int_equal(plan->codes[1].config, PERF_COUNT_HW_CACHE_MISSES);
        }
        assert_int_equal(try_count, number);
    }
}

/* As libpfm4 encodes them, with what the name leaves out. */
TEST(events_by_name) {
    static const struct {
        const char *name;
        uint64_t config;
        uint32_t exclude;
    } cases[] = {
        {"perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS, 0},
        {"perf::PAGE-FAULTS:u", PERF_COUNT_SW_PAGE_FAULTS, SPEX_EXCLUDE_KERNEL},
        {"perf::CONTEXT-SWITCHES:k", PERF_COUNT_SW_CONTEXT_SWITCHES, SPEX_EXCLUDE_USER},
        {"perf::TASK-CLOCK:u:k", PERF_COUNT_SW_TASK_CLOCK, 0},
    };
    const uint32_t modes = SPEX_EXCLUDE_USER | SPEX_EXCLUDE_KERNEL;
    const char *why;
    struct spex_pfm pfm;
    if (spex_pfm_load(&pfm, &why) != 0)
        skip();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        try_count = 0;
        messages_begin();
        spex_perfcntr_set_name(6, cases[c].name);
        (void)messages_end();
        const enum spex_counter counter = (enum spex_counter)(SPEX_COUNTER_PERFCNTR + 6);
        const struct spex_counter_plan *plan = asked_for(counter);
        assert_int_equal(plan->events, 1);
        assert_int_equal(plan->codes[0].type, PERF_TYPE_SOFTWARE);
        assert_int_equal(plan->codes[0].config, cases[c].config);
        assert_int_equal(plan->codes[0].exclude & modes, cases[c].exclude);
    }
}

/* As the kernel tells in /proc/cpuinfo. */
TEST(the_processor_here) {
    struct spex_processor here = __real_spex_processor_here();
    char line[512], vendor[64] = "";
    unsigned family = 0, model = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "vendor_id : %63s", vendor);
        (void)sscanf(line, "cpu family : %u", &family);
        (void)sscanf(line, "model : %u", &model);
    }
    fclose(file);
    assert_int_equal(here.family, family);
    assert_int_equal(here.model, model);
    assert_int_equal(here.vendor, strcmp(vendor, "GenuineIntel") == 0   ? SPEX_VENDOR_INTEL
                                  : strcmp(vendor, "AuthenticAMD") == 0 ? SPEX_VENDOR_AMD
                                                                        : SPEX_VENDOR_OTHER);
}

#endif
