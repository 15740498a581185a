/* SPDX-License-Identifier: MIT */
/* Differences of counts that are read while others add to them. */
#ifndef SPEX_BASE_GROWN_H
#define SPEX_BASE_GROWN_H

#include <stdint.h>

/* Returns how much a count has grown, at least 0. A count that is read while records are made may
 * seem to fall a little, as may a count of atomic rings. */
static inline uint64_t spex_grown(uint64_t before, uint64_t now) {
    return now > before ? now - before : 0;
}

#endif
