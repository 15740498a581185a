/* SPDX-License-Identifier: MIT */
/* What a start, a selection and the end cost is charged to the budget: by the CPU time of the thread
 * that starts, which passes here by one nanosecond each time that it is read. */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "life.h"
#include "rate/controller.h"

static uint64_t charged, read_so_far;
static _Thread_local bool is_observed;

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);
void __wrap_spex_controller_charge(uint64_t ns);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    return is_observed && clock == CLOCK_THREAD_CPUTIME_ID ? ++read_so_far
                                                           : __real_spex_clock_ns(clock);
}

void __wrap_spex_controller_charge(uint64_t ns) {
    charged += ns;
}

static int enter(void **state) {
    (void)state;
    charged = read_so_far = 0;
    is_observed = true;
    return 0;
}

static int leave(void **state) {
    (void)state;
    is_observed = false;
    return spex_stop() < 0;
}

/* From its first reading to its last one: all of it, and half as much for the end. One step is
 * missed on each side of the selection, which charges itself. */
TEST_WITH(a_start_pays_for_itself_and_for_the_end, enter, leave) {
    assert_true(start("*") >= 0);
    assert_true(read_so_far >= 4);
    uint64_t all = read_so_far - 1;
    assert_int_equal(charged, all - 2 + all / 2);
}

TEST_WITH(a_start_with_nothing_on_pays_nothing, enter, leave) {
    assert_true(start(NULL) >= 0);
    assert_int_equal(charged, 0);
}

TEST_WITH(a_selection_pays_for_itself, enter, leave) {
    assert_true(start(NULL) >= 0);
    uint64_t before = read_so_far;
    assert_true(spex_set("*") >= 0);
    assert_true(read_so_far > before + 1);
    assert_int_equal(charged, read_so_far - before - 1);
}
