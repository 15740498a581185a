/* SPDX-License-Identifier: MIT */
/* The clock of all records: a counter in the processor that is read by one instruction.
 *
 *     uint64_t begin = spex_ticks();
 *     work();
 *     uint64_t ticks = spex_ticks() - begin;
 *
 * uint64_t spex_ticks(void)
 *     returns the counter's value: on x86-64 the time stamp counter (RDTSC), on aarch64 the virtual
 *     counter (CNTVCT_EL0).
 *
 *     Unit: ticks of a constant rate, which differs between machines (x86-64: usually 1 to 4 GHz;
 *     aarch64: 1 GHz from ARMv8.6 on, otherwise a few tens of MHz). All CPUs show the same time.
 *     Order: the processor may read the counter a few instructions earlier or later than it stands
 *     in the program. Nothing waits.
 *     Any thread, any signal handler; cannot fail. Needs no library. */
#ifndef SPEX_TICKS_H
#define SPEX_TICKS_H

#if defined(__x86_64__)
#include <spex/arch/x86_64.h>
#elif defined(__aarch64__)
#include <spex/arch/aarch64.h>
#else
#error "spex: this version supports x86-64 and aarch64 only"
#endif

#endif
