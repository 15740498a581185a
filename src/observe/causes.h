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
    /* The figures are mostly of other executions, and leave more than one cause. */
    SPEX_CAUSE_SHORT,
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

/* `spent`: for how long the thread was in executions of the anomaly while `during` was measured.
 * Where that is most of the time, its figures are those of the anomaly, and are compared with those
 * before; else the cause is the only one that it has had the time for. SPEX_CAUSE_UNKNOWN when
 * either has no figures. */
struct spex_cause_found spex_cause_of(const struct spex_thread_use *before,
                                      const struct spex_thread_use *during, double spent);

/* Lists the figures that have changed, such as "on the CPU 98 % → 31 %, voluntary switches 3/s
 * → 160/s". Empty when none has. A text that is longer than `size` is cut. */
void spex_cause_changes(const struct spex_cause_found *found, char *text, size_t size);

#endif
