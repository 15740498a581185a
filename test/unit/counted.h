/* SPDX-License-Identifier: MIT */
/* What this process's profile says of a probe now. */
#ifndef SPEX_TEST_COUNTED_H
#define SPEX_TEST_COUNTED_H

#include "../check.h"
#include "serve/own_profile.h"

/* Executions of all probes with that id. */
static inline double counted(uint16_t id) {
    struct spex_profile profile;
    double count = 0;
    assert_int_equal(spex_profile_now(&profile), 0);
    for (size_t r = 0; r < profile.row_count; r++)
        if (profile.rows[r].probe.probe_id == id)
            count += profile.rows[r].probe.count;
    spex_profile_now_free(&profile);
    return count;
}

#endif
