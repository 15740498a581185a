/* SPDX-License-Identifier: MIT */
/* Why something took longer: what its thread used meanwhile against what it used before. */
#ifndef SPEX_OBSERVE_CAUSES_H
#define SPEX_OBSERVE_CAUSES_H

#include "observe/thread_samples.h"

enum spex_cause {
    SPEX_CAUSE_UNKNOWN, /* there are no figures */
    SPEX_CAUSE_NONE,    /* they tell nothing */
    SPEX_CAUSE_CPU_TAKEN,
    SPEX_CAUSE_PAGES_READ,
    SPEX_CAUSE_BLOCKED,
    SPEX_CAUSE_MEMORY,
    SPEX_CAUSE_COMPUTES,
};

struct spex_cause_found {
    enum spex_cause cause;
    uint32_t changed; /* a bit for each of enum spex_used */
    struct spex_thread_use before;
    struct spex_thread_use during;
};

/* "waits for I/O or a lock". */
const char *spex_cause_text(enum spex_cause cause);

/* "voluntary switches" */
const char *spex_used_text(enum spex_used what);

struct spex_cause_found spex_cause_of(const struct spex_thread_use *before,
                                      const struct spex_thread_use *during);

/* "on the CPU 98 % → 31 %, voluntary switches 3/s → 160/s": what has changed; "" where nothing has. */
void spex_cause_changes(const struct spex_cause_found *found, char *text, size_t size);

#endif
