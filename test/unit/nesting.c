/* SPDX-License-Identifier: MIT */
/* What probes within a probe cost is known by the exact counts: of executions that are looked
 * at, as much as they have executed. Costs are given, so that the truth is known. */
#define _GNU_SOURCE
#include <math.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "base/line.h"
#include "counted.h"
#include "probe/nesting.h"
#include "probe/threads.h"
#include "site/cost.h"
#include "site/registry.h"

enum { OUTER = 1, LAT_WITHIN, CNT_WITHIN, KERNEL_AROUND, TWICE };
enum { SKIP = 2, RECORD = 10, WITHIN = 5, LOOKED_AT = 6, ROUNDS_MAX = 3000 };

static int start(void **state) {
    const struct spex_options options = {
        .size = sizeof(options), .out = "/dev/null", .ring_records = 1024, .no_calibration = true};
    const struct spex_cost cost = {.test = 0, .skip = SKIP, .record = RECORD};
    (void)state;
    if (!spex_costs_known()) {
        spex_cost_set(SPEX_CNT, &cost);
        spex_cost_set(SPEX_LAT, &cost);
        spex_cost_set(SPEX_KERNEL, &cost);
    }
    return spex_start(&options);
}

static int stop(void **state) {
    (void)state;
    return spex_stop();
}

/* Takes longer than what the probes are said to cost, which is more than they do: an execution
 * costs no more than the time around it. */
COMPILED_ONCE static void within(unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        for (volatile int work = 0; work < 20; work++)
            continue;
        LAT_PROBE_BEGIN(LAT_WITHIN, 1);
        SPEX_CNT_SCOPE(CNT_WITHIN, 1);
        LAT_PROBE_END(LAT_WITHIN);
    }
}

COMPILED_ONCE static void outer(unsigned times) {
    LAT_PROBE_BEGIN(OUTER, 1);
    within(times);
    LAT_PROBE_END(OUTER);
}

static struct spex_line_sums sums_of(uint16_t id) {
    struct spex_profile profile;
    struct spex_line_sums sums = {0};
    assert_int_equal(spex_profile_now(&profile), 0);
    for (size_t r = 0; r < profile.row_count; r++)
        if (profile.rows[r].probe.probe_id == id)
            sums = profile.rows[r].probe.nested;
    spex_profile_now_free(&profile);
    return sums;
}

/* Executes until enough executions of the probe have been looked at. */
static struct spex_line_sums looked_at(const char *selection, uint16_t id,
                                       void (*execute)(unsigned times), uint64_t *executed) {
    struct spex_line_sums before = sums_of(id), sums = {0};
    assert_true(spex_set(selection) >= 0);
    for (unsigned round = 0; sums.count < LOOKED_AT; round++) {
        assert_true(round < ROUNDS_MAX);
        for (unsigned i = 0; i < 10000; i++)
            execute(WITHIN);
        *executed += 10000;
        sums = sums_of(id);
        spex_line_add_sums(&sums, &before, -1);
    }
    assert_true(spex_set("off") >= 0);
    assert_true(sums.x >= sums.y);
    return sums;
}

/* Each selection of the probes within, and what an execution of both costs by it. */
static const struct {
    const char *selection;
    double each;
} rates[] = {
    {"1,2,3", RECORD + RECORD},
    {"1,2@10,3@10", 2 * (SKIP + (RECORD - SKIP) / 10.0)},
    {"1@7,2,3@1000", RECORD + SKIP + (RECORD - SKIP) / 1000.0},
    {"1@~20,2@~10,3", SKIP + (RECORD - SKIP) / 10.0 + RECORD},
    {"1@16x64,2,3", RECORD + RECORD},
    {"1,2@poll,3", RECORD},
};

TEST_WITH(costs_are_what_executed_within, start, stop) {
    uint64_t executed = 0;
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        struct spex_line_sums sums = looked_at(rates[r].selection, OUTER, outer, &executed);
        double mean = sums.y / sums.count, truth = WITHIN * rates[r].each;
        print_message("%s: %.1f of %.1f ticks\n", rates[r].selection, mean, truth);
        assert_true(fabs(mean - truth) < 1e-6);
    }
    assert_true(counted(OUTER) == (double)executed);
}

static void kernel(unsigned times) {
    KERNEL_PROBE_BEGIN(KERNEL_AROUND, 1);
    outer(times);
    KERNEL_PROBE_END(KERNEL_AROUND);
}

/* Also a kernel of which few executions make records. */
TEST_WITH(kernels_contain_all_that_is_within, start, stop) {
    static const char *const selections[] = {"4,1,2,3", "4@10,1,2,3", "4@~10,1,2,3"};
    uint64_t executed = 0;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        struct spex_line_sums sums = looked_at(selections[s], KERNEL_AROUND, kernel, &executed);
        double truth = RECORD + WITHIN * 2.0 * RECORD;
        assert_true(fabs(sums.y / sums.count - truth) < 1e-6);
    }
    assert_true(counted(KERNEL_AROUND) == (double)executed);
}

/* An outer execution contains two of its own. */
COMPILED_ONCE static void twice(unsigned depth) {
    LAT_PROBE_BEGIN(TWICE, 1);
    if (depth > WITHIN - 2) {
        twice(depth - 1);
        twice(depth - 1);
    }
    within(1);
    LAT_PROBE_END(TWICE);
}

/* Of a recursion, and of records by chance, no execution gets the END of another: no cost is above
 * that of all seven. */
TEST_WITH(recursion, start, stop) {
    static const char *const selections[] = {"5,2", "5@~3,2", "5@3,2"};
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        struct spex_line_sums before = sums_of(TWICE);
        uint64_t executed = 0;
        if (s == 0)
            looked_at(selections[s], TWICE, twice, &executed);
        assert_true(spex_set(selections[s]) >= 0);
        for (unsigned i = 0; i < 20000; i++)
            twice(WITHIN);
        struct spex_line_sums sums = sums_of(TWICE);
        spex_line_add_sums(&sums, &before, -1);
        assert_true(sums.y <= sums.count * (6 + 7) * RECORD);
        assert_true(spex_set("off") >= 0);
    }
}

static jmp_buf before_outer;

COMPILED_ONCE static void left(unsigned times) {
    LAT_PROBE_BEGIN(OUTER, 1);
    within(times);
    if (times)
        longjmp(before_outer, 1);
    LAT_PROBE_END(OUTER);
}

static void leave_and_execute(unsigned times) {
    if (setjmp(before_outer) == 0)
        left(times);
    outer(times);
}

/* Between two looks at a site passes the more time, the more sites there are to go through. */
TEST_WITH(looks_wait_until_they_are_due, start, stop) {
    assert_true(spex_set("1") >= 0);
    outer(WITHIN);
    struct spex_thread *thread = spex_thread_attach();
    struct spex_nesting *nesting = spex_thread_nesting_make(thread);
    assert_non_null(nesting);
    uint64_t now = nesting->due;
    spex_nesting_look(thread, now);
    uint64_t pause = nesting->due - now;
    assert_true((int64_t)pause > spex_sites_count());
    spex_nesting_look(thread, now + pause - 1);
    assert_true(nesting->due == now + pause);
    spex_nesting_look(thread, now + pause);
    assert_true(nesting->due == now + 2 * pause);
}

/* Executions without END cost nothing but themselves. */
TEST_WITH(executions_that_are_left, start, stop) {
    static const char *const selections[] = {"1,2", "1@~3,2"};
    uint64_t executed = 0;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        struct spex_line_sums sums = looked_at(selections[s], OUTER, leave_and_execute, &executed);
        assert_true(fabs(sums.y / sums.count - WITHIN * RECORD) < 1e-6);
    }
}
