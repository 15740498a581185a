/* SPDX-License-Identifier: MIT */
/* Pairs what is recorded when functions begin with what is recorded when they end. Both have the stack
 * pointer at the function's first instruction, which no other execution of the same function has at that
 * time: stacks of all threads, coroutines and signal handlers lie at different addresses. */
#ifndef SPEX_ATTACH_PAIRING_H
#define SPEX_ATTACH_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/arguments.h"

struct spex_pairing;

/* What has become of a function's executions that have no time. */
struct spex_unpaired {
    /* Begun, and not ended: they are still executed, or have been left by longjmp, an exception, or the
     * end of their thread. */
    uint64_t open;
    /* Begun, and never ended: their place on the stack was taken since. */
    uint64_t abandoned;
    /* Ended, and not begun while the function was looked at. */
    uint64_t begun_before;
    /* Not kept for want of room. */
    uint64_t refused;
};

/* Executions that may be open at a time; no more are kept. 0 or -ENOMEM. */
int spex_pairing_create(struct spex_pairing **pairing, size_t functions, size_t open_most);
void spex_pairing_destroy(struct spex_pairing *pairing);

void spex_pairing_begin(struct spex_pairing *pairing, size_t function, uint64_t stack_pointer,
                        uint64_t ns, const uint64_t registers[SPEX_ARGUMENTS_MAX]);

/* Whether the beginning is known; then *took is the time from there, with the registers as they were. */
bool spex_pairing_end(struct spex_pairing *pairing, size_t function, uint64_t stack_pointer,
                      uint64_t ns, uint64_t *took, uint64_t registers[SPEX_ARGUMENTS_MAX]);

/* Forgets all open executions, as records were lost: their ends may be among them. They count as
 * abandoned. */
void spex_pairing_forget(struct spex_pairing *pairing);

/* Forgets those of a function, which is looked at no more. They count as abandoned. */
void spex_pairing_forget_function(struct spex_pairing *pairing, size_t function);

struct spex_unpaired spex_pairing_unpaired(const struct spex_pairing *pairing, size_t function);

#endif
