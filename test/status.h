/* SPDX-License-Identifier: MIT */
/* What spex says of itself now. */
#ifndef SPEX_TEST_STATUS_H
#define SPEX_TEST_STATUS_H

#include <stdlib.h>

#include <spex/spex.h>

static inline struct spex_status status_now(void) {
    struct spex_status now = {.size = sizeof(now)};
    if (spex_status_get(&now) != 0)
        abort();
    return now;
}

#endif
