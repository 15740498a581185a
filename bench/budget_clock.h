/* SPDX-License-Identifier: MIT */
/* A clock that stands still while a process is stopped. The library's budget fills with the time that goes by, so one
 * that is stopped half of the time would have twice as much. The bench is linked with --wrap=spex_clock_ns, by which
 * the library's own calls come here; only CLOCK_MONOTONIC is another. Its sleeps are not: a collector that slept when
 * the process was stopped looks at its rings at once when it goes on, one time more in a slice. */
#ifndef SPEX_BENCH_BUDGET_CLOCK_H
#define SPEX_BENCH_BUDGET_CLOCK_H

#include <stdint.h>

/* In the process that is stopped: where another adds up for how many nanoseconds it was. */
void budget_clock_set(const uint64_t *stopped_ns);

#endif
