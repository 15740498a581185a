/* SPDX-License-Identifier: MIT */
/* The same function, compiled with -finstrument-functions and without. */
#ifndef SPEX_BENCH_FUNCTIONS_H
#define SPEX_BENCH_FUNCTIONS_H

#include <stdint.h>

uint64_t bench_plain(uint64_t value);
uint64_t bench_instrumented(uint64_t value);

#endif
