/* SPDX-License-Identifier: MIT */
/* The cause of an anomaly: what its thread used during it, compared with what it used before. */
#ifndef SPEX_OBSERVE_CAUSES_H
#define SPEX_OBSERVE_CAUSES_H

#include "observe/thread_samples.h"

enum spex_cause {
    SPEX_CAUSE_UNKNOWN, /* no figures of the thread */
    SPEX_CAUSE_NONE,    /* no figure has changed in a known way */
    SPEX_CAUSE_CPU_TAKEN,
    SPEX_CAUSE_PAGES_READ,
    SPEX_CAUSE_BLOCKED,
    SPEX_CAUSE_MEMORY,
    SPEX_CAUSE_COMPUTES,
};

/* The result, with what was compared. */
struct spex_cause_found {
    enum spex_cause cause;
    /* Bit u: the figure `u` of enum spex_used has changed. */
    uint32_t changed;
    struct spex_thread_use before;
    struct spex_thread_use during;
};

/* The cause as users read it, such as "waits for I/O or a lock". */
const char *spex_cause_text(enum spex_cause cause);

/* The figure as users read it, such as "voluntary switches". */
const char *spex_used_text(enum spex_used what);

/* SPEX_CAUSE_UNKNOWN when either has no figures. */
struct spex_cause_found spex_cause_of(const struct spex_thread_use *before,
                                      const struct spex_thread_use *during);

/* Lists the figures that have changed, such as "on the CPU 98 % → 31 %, voluntary switches 3/s
 * → 160/s". Empty when none has. A text that is longer than `size` is cut. */
void spex_cause_changes(const struct spex_cause_found *found, char *text, size_t size);

#endif
