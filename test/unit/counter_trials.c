/* SPDX-License-Identifier: MIT */
/* Which ways of reading a counter are refused, and why: those that cannot be opened, count too few
 * or too many events, or none, cannot be read, or do not agree with the system call. What the
 * events read is made here. */
#include <errno.h>
#include <linux/perf_event.h>

#include "../check.h"
#include "counters/event.h"
#include "counters/way_trial.h"

enum { READINGS_MAX = 16 };

/* What the readings of the event are, one after the other; the last one stays. */
static struct {
    struct spex_reading readings[READINGS_MAX];
    size_t count, next;
    int refusal;
    unsigned opened, released;
    /* Where the event is a page that is mapped. */
    struct perf_event_mmap_page pages[2];
    /* Of faults and switches: how many times as many as there are. */
    unsigned factor;
} fake;

int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step);
void __wrap_spex_event_read(const struct spex_event *event, enum spex_counter counter,
                            struct spex_reading *reading);
void __real_spex_event_read(const struct spex_event *event, enum spex_counter counter,
                            struct spex_reading *reading);
void __wrap_spex_event_release(const struct spex_event *event);

int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step) {
    *step = "the step";
    if (fake.refusal)
        return fake.refusal;
    event->way = (uint8_t)way;
    event->events = (uint8_t)plan->events;
    for (unsigned i = 0; i < plan->events; i++)
        event->pages[i] = &fake.pages[i];
    fake.opened++;
    return 0;
}

void __wrap_spex_event_read(const struct spex_event *event, enum spex_counter counter,
                            struct spex_reading *reading) {
    if (event->way == SPEX_WAY_RUSAGE || fake.factor) {
        struct spex_event rusage = {.way = SPEX_WAY_RUSAGE};
        __real_spex_event_read(&rusage, counter, reading);
        if (event->way != SPEX_WAY_RUSAGE)
            reading->values[0] *= fake.factor;
        return;
    }
    *reading = fake.readings[fake.next];
    fake.next += fake.next + 1 < fake.count;
}

void __wrap_spex_event_release(const struct spex_event *event) {
    (void)event;
    fake.released++;
}

static struct spex_way_trial tried(enum spex_counter counter, unsigned events, enum spex_way way,
                                   int result) {
    struct spex_way_trial trial = {.counter = counter, .plan = {.events = events}};
    int err = 99;
    fake.opened = fake.released = 0;
    fake.next = 0;
    uint64_t cost = spex_way_try(&trial, way, &err);
    assert_int_equal(err, result);
    assert_int_equal(cost > 0, !result);
    assert_int_equal(fake.released, fake.opened);
    assert_int_equal(trial.plan.way, way);
    return trial;
}

static void readings_set(const struct spex_reading *readings, size_t count) {
    memset(&fake, 0, sizeof(fake));
    memcpy(fake.readings, readings, count * sizeof(*readings));
    fake.count = count;
}

TEST(what_cannot_be_opened) {
    memset(&fake, 0, sizeof(fake));
    fake.refusal = -EACCES;
    struct spex_way_trial trial = tried(SPEX_COUNTER_FAULTS, 1, SPEX_WAY_FAULT_RECORDS, -EACCES);
    assert_string_equal(trial.why, "the step: Permission denied");
}

/* In one of a few tries it must count as many as getrusage. */
TEST(too_many_and_too_few) {
    memset(&fake, 0, sizeof(fake));
    fake.factor = 1;
    tried(SPEX_COUNTER_FAULTS, 1, SPEX_WAY_FAULT_RECORDS, 0);
    tried(SPEX_COUNTER_SWITCHES, 1, SPEX_WAY_SWITCH_COUNT, 0);
    fake.factor = 3;
    static const enum spex_counter counters[] = {SPEX_COUNTER_FAULTS, SPEX_COUNTER_SWITCHES};
    for (size_t c = 0; c < COUNT_OF(counters); c++) {
        unsigned long long seen, made;
        struct spex_way_trial trial =
            tried(counters[c], 1, c ? SPEX_WAY_SWITCH_RECORDS : SPEX_WAY_FAULT_RECORDS, -ENODATA);
        assert_int_equal(
            sscanf(trial.why, "it counted %llu where getrusage counts %llu", &seen, &made), 2);
        assert_true(made >= (c ? 4 : 16) && seen >= 3 * made);
    }
    readings_set(&(struct spex_reading){.values = {7}, .available = true}, 1);
    struct spex_way_trial trial = tried(SPEX_COUNTER_FAULTS, 1, SPEX_WAY_FAULT_RECORDS, -ENODATA);
    assert_int_equal(strncmp(trial.why, "it counted 0 where getrusage counts ", 36), 0);
}

/* The readings before and after, of the system call. */
TEST(events_that_do_not_count) {
    static const struct {
        enum spex_counter counter;
        struct spex_reading readings[2];
        const char *why;
    } cases[] = {
        {SPEX_COUNTER_LLC, {{{5}, 10, 10, 0, true}, {{6}, 20, 15, 0, true}}, NULL},
        {SPEX_COUNTER_LLC,
         {{{5}, 10, 10, 0, true}, {{5}, 20, 15, 0, true}},
         "it stands still while memory is read"},
        {SPEX_COUNTER_PERFCNTR, {{{5}, 10, 10, 0, true}, {{5}, 20, 15, 0, true}}, NULL},
        {SPEX_COUNTER_PERFCNTR,
         {{{5}, 10, 10, 0, true}, {{9}, 20, 10, 0, true}},
         "it is not scheduled"},
        {SPEX_COUNTER_PERFCNTR, {{{5}, 0, 0, 0, true}, {{5}, 0, 0, 0, true}}, NULL},
        {SPEX_COUNTER_PERFCNTR,
         {{{5}, 10, 10, 0, false}, {{6}, 20, 15, 0, true}},
         "it cannot be read"},
        {SPEX_COUNTER_PERFCNTR,
         {{{5}, 10, 10, 0, true}, {{6}, 20, 15, 0, false}},
         "it cannot be read"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        readings_set(cases[c].readings, 2);
        struct spex_way_trial trial =
            tried(cases[c].counter, 1, SPEX_WAY_READ, cases[c].why ? -ENODATA : 0);
        if (cases[c].why)
            assert_string_equal(trial.why, cases[c].why);
    }
}

#if defined(__x86_64__)

/* The system call, the instruction, and the system call again; then those around the work. */
TEST(the_instruction_agrees_with_the_call) {
    static const struct {
        struct spex_reading readings[5];
        bool agrees;
    } cases[] = {
        {{{{10}, 5, 5, 0, true},
          {{12}, 0, 0, 0, true},
          {{15}, 5, 5, 0, true},
          {{15}, 0, 0, 0, true},
          {{16}, 0, 0, 0, true}},
         true},
        {{{{10}, 5, 5, 0, true},
          {{10}, 0, 0, 0, true},
          {{10}, 5, 5, 0, true},
          {{15}, 0, 0, 0, true},
          {{16}, 0, 0, 0, true}},
         true},
        {{{{10}, 5, 5, 0, true},
          {{15}, 0, 0, 0, true},
          {{15}, 5, 5, 0, true},
          {{15}, 0, 0, 0, true},
          {{16}, 0, 0, 0, true}},
         true},
        {{{{10}, 5, 5, 0, true}, {{16}, 0, 0, 0, true}, {{15}, 5, 5, 0, true}}, false},
        {{{{10}, 5, 5, 0, true}, {{9}, 0, 0, 0, true}, {{15}, 5, 5, 0, true}}, false},
        {{{{10}, 5, 5, 0, true}, {{12}, 5, 5, 0, true}, {{15}, 5, 5, 0, true}}, false}, /* a call */
        {{{{10}, 5, 5, 0, true}, {{12}, 0, 0, 0, false}, {{15}, 5, 5, 0, true}}, false},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        readings_set(cases[c].readings, 5);
        fake.pages[0].cap_user_rdpmc = fake.pages[1].cap_user_rdpmc = 1;
        struct spex_way_trial trial =
            tried(SPEX_COUNTER_LLC, 2, SPEX_WAY_RDPMC, cases[c].agrees ? 0 : -ENODATA);
        if (!cases[c].agrees)
            assert_string_equal(trial.why, "it does not agree with read()");
    }
    for (unsigned page = 0; page < 2; page++) {
        readings_set(cases[0].readings, 5);
        fake.pages[!page].cap_user_rdpmc = 1;
        struct spex_way_trial trial = tried(SPEX_COUNTER_LLC, 2, SPEX_WAY_RDPMC, -ENODATA);
        assert_string_equal(trial.why, "the kernel does not allow it for this event");
    }
}

#endif

TEST(ways_that_are_not_allowed) {
    struct spex_way_trial trial = {.counter = SPEX_COUNTER_FAULTS, .plan = {.events = 1}};
    int err = 0;
    memset(&fake, 0, sizeof(fake));
    assert_int_equal(spex_counters_allow("read"), 0);
    assert_int_equal(spex_way_try(&trial, SPEX_WAY_FAULT_RECORDS, &err), 0);
    assert_int_equal(err, -EPERM);
    assert_string_equal(trial.why, "SPEX_COUNTERS does not allow it");
    assert_int_equal(fake.opened, 0);
    assert_int_equal(spex_counters_allow(NULL), 0);
}
