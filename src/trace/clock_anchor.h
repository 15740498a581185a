/* SPDX-License-Identifier: MIT */
/* The relation between ticks and the wall clock, as a trace states it. */
#ifndef SPEX_TRACE_CLOCK_ANCHOR_H
#define SPEX_TRACE_CLOCK_ANCHOR_H

#include "trace/trace_format.h"

/* Reads the clocks, a few times, and returns the reading that was least disturbed. */
struct spex_journal_clock spex_clock_anchor_now(void);

/* A clock of CTF: its value is ticks, and 0 ticks lie at `seconds` and `ticks` of the wall
 * clock. */
struct spex_trace_clock {
    uint64_t ticks_per_second;
    int64_t seconds;
    uint64_t ticks;
};

/* The clock by two moments, some milliseconds apart at least. It is right at the first. */
struct spex_trace_clock spex_trace_clock(struct spex_journal_clock first,
                                         struct spex_journal_clock later);

#endif
