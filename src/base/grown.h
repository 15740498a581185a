/* SPDX-License-Identifier: MIT */
/* Differences of counts that are read while others add to them. */
#ifndef SPEX_BASE_GROWN_H
#define SPEX_BASE_GROWN_H

#include <stdint.h>

/* How much a count has grown. A count of atomic rings, or one that is read while records are made,
 * may seem to fall a little: it has not grown then. */
static inline uint64_t spex_grown(uint64_t before, uint64_t now) {
    return now > before ? now - before : 0;
}

#endif
