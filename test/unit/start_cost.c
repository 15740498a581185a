/* SPDX-License-Identifier: MIT */
/* What a start, a selection and the end cost is charged to the budget: by the CPU time of the thread
 * that starts, which passes here by one nanosecond each time that it is read. */
#include <pthread.h>
#include <stdint.h>
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
static void a_start_pays_for_itself_and_for_the_end(void **state) {
    (void)state;
    assert_true(start("*") >= 0);
    assert_true(read_so_far >= 4);
    uint64_t all = read_so_far - 1;
    assert_int_equal(charged, all - 2 + all / 2);
}

static void a_start_with_nothing_on_pays_nothing(void **state) {
    (void)state;
    assert_true(start(NULL) >= 0);
    assert_int_equal(charged, 0);
}

static void a_selection_pays_for_itself(void **state) {
    (void)state;
    assert_true(start(NULL) >= 0);
    uint64_t before = read_so_far;
    assert_true(spex_set("*") >= 0);
    assert_true(read_so_far > before + 1);
    assert_int_equal(charged, read_so_far - before - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_start_pays_for_itself_and_for_the_end, enter, leave),
        cmocka_unit_test_setup_teardown(a_start_with_nothing_on_pays_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(a_selection_pays_for_itself, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
