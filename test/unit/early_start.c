/* SPDX-License-Identifier: MIT */
/* A constructor of the program starts spex, as spex/functions.h proposes. */
#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "serve/own_profile.h"
#include "site/cost.h"

static int started = -1;

__attribute__((constructor)) static void start(void) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*", .out = "/dev/null"};
    started = spex_start(&options);
}

TEST(all_is_there_for_a_constructor) {
    struct spex_cost cost;
    struct spex_profile profile;
    assert_int_equal(started, 0);
    assert_int_equal(spex_cost_get(SPEX_LAT, &cost), 0);
    assert_true(cost.record > 0);
    assert_string_not_equal(spex_profile_own_name(), "");
    for (int i = 0; i < 10; i++) {
        SPEX_LAT_BEGIN(early, 1);
        SPEX_LAT_END(early);
    }
    assert_int_equal(spex_profile_now(&profile), 0);
    assert_int_equal(profile.row_count, 1);
    assert_true(profile.rows[0].probe.count == 10);
    spex_profile_now_free(&profile);
    assert_int_equal(spex_stop(), 0);
}
