/* SPDX-License-Identifier: MIT */
/* What the probes within an execution of a probe add to its time. A thread looks at executions of
 * its timed probes now and then, of one site after the other: at BEGIN and at END it computes what
 * all its executions up to then have cost, by its exact counts and the calibrated costs. The
 * difference is what the probes within have cost.
 *
 *     arm     the thread's word of a site gets the bit SPEX_SAMPLE_NOTE, so that its next execution
 *             calls the library (spex_sample)
 *     begin   in that call; the execution's weight has SPEX_SAMPLE_NOTE, so that its END calls, too
 *     end     where a noted execution ends
 *
 * So executions that are not looked at take no longer than otherwise. Functions with a `thread` are
 * for this thread and its signal handlers. Nothing here locks or allocates from the heap. `site` is
 * an index. */
#ifndef SPEX_PROBE_NESTING_H
#define SPEX_PROBE_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/line.h"

struct spex_thread;

struct spex_nesting_site {
    /* Ticks when the execution that is looked at began; 0: none is. */
    uint64_t begin;
    /* What the thread's executions had cost by then, and the sum of the costs that this was
     * computed with. */
    double spent, costs;
    /* Of the executions looked at: their time in ticks (x), and the part of it that probes within
     * them have taken (y). Other threads read them. */
    struct spex_line_sums sums;
    /* Executions since the bit was set that could not be looked at. */
    uint32_t passed;
};

struct spex_nesting {
    /* Sites of which there is an element. */
    uint32_t capacity;
    /* The site that was armed last. */
    uint32_t armed;
    /* When the next site is armed, in ticks. */
    uint64_t due;
    struct spex_nesting_site sites[];
};

/* Arms the thread's next site, if it is time. To be called now and then when a record has been
 * made; `now` is the record's time. */
void spex_nesting_look(struct spex_thread *thread, uint64_t now);

/* Whether the next execution of the site is to be looked at. */
bool spex_nesting_is_armed(const struct spex_thread *thread, uint32_t site);

/* Makes an end of that. */
void spex_nesting_disarm(struct spex_thread *thread, uint32_t site);

/* The execution of an armed site will not have an END by which it could be looked at; another one
 * may. */
void spex_nesting_pass(struct spex_thread *thread, uint32_t site);

/* BEGIN of an execution that is looked at. It has been counted. */
void spex_nesting_begin(struct spex_thread *thread, uint32_t site);

/* BEGIN of another noted execution of the site, within the one that is looked at or after that has
 * been left without END: their ENDs cannot be told apart. */
void spex_nesting_forget(struct spex_thread *thread, uint32_t site);

/* END of a noted execution of the site; now 0: it is not known. */
void spex_nesting_end(struct spex_thread *thread, uint32_t site, uint64_t now);

/* Adds the sums of the site by all threads. Any thread. */
void spex_nesting_add_sums(struct spex_line_sums *sums, uint32_t site);

#endif
