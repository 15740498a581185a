/* SPDX-License-Identifier: MIT */
/* A function of a library that counts its calls, which other objects call through slots. */
#ifndef SPEX_TEST_SLOTTED_H
#define SPEX_TEST_SLOTTED_H

#include <stdint.h>

#pragma GCC visibility push(default)

extern uint64_t slotted_calls;

/* Returns the sum of its arguments, of which the last ones are on the stack. */
uint64_t slotted(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                 double h);

/* The same, with several instructions in its first bytes. */
uint64_t slotted_steps(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                       uint64_t g, double h);

/* Calls it without a slot. */
void slotted_within(unsigned long count);
void slotted_direct(void);

#pragma GCC visibility pop

#endif
