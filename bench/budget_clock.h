/* SPDX-License-Identifier: MIT */
/* A clock that stands still while a process is stopped. The budget of the library fills with
 * the time that goes by, so that a process that is stopped half of the time would have twice as
 * much. The sleeps of its threads stand still, too: a collector would else make a pass each time
 * when the process continues. The bench is linked with --wrap=spex_clock_ns,--wrap=syscall, by
 * which the calls of the library come here; only CLOCK_MONOTONIC, CPU time of threads, and waiting
 * at a futex are changed. */
#ifndef SPEX_BENCH_BUDGET_CLOCK_H
#define SPEX_BENCH_BUDGET_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* Called in the process that is stopped. `stopped_ns`: where the parent adds the time for which
 * it was stopped. */
void budget_clock_set(const uint64_t *stopped_ns);

/* A thread that does nothing but sleep: its CPU time is that of being stopped and continued (20 µs
 * each time), which is taken from what other threads are told of theirs. */
void budget_clock_set_sleeper(pthread_t sleeper);

#endif
