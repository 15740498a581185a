/* SPDX-License-Identifier: MIT */
/* The caches of this machine, as far as bound.h goes by them. */
#ifndef SPEX_RATE_CACHES_H
#define SPEX_RATE_CACHES_H

#include "rate/bound.h"

/* As they mostly are, with this machine's sizes. Takes no time. */
struct spex_rate_caches spex_caches_usual(void);

/* Measures them at the first call, which takes a quarter of a millisecond. One thread at a time. */
const struct spex_rate_caches *spex_caches(void);

#endif
