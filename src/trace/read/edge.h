/* SPDX-License-Identifier: MIT */
/* What a process's profile was at a moment of its trace. The journal has profiles about once a
 * second; between two, executions are divided as the weights of their records are, and times
 * evenly. */
#ifndef SPEX_TRACE_READ_EDGE_H
#define SPEX_TRACE_READ_EDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/read/recording.h"

/* Records of a class in one of the two pieces beside the moment. */
struct spex_edge_sums {
    double weight;
    double records;
};

struct spex_edge {
    const struct spex_recording *trace;
    const struct spex_recording_process *process;
    /* The moment, and those of the profiles around it, `at` itself where there is none. Ticks. */
    uint64_t at, from, to;
    /* The profiles; `first` is empty where the collection began with the trace. */
    bool have_first, have_last;
    struct spex_profile first, last;
    /* By class: from `from` to `at`, and from `at` to `to`. */
    struct spex_edge_sums *before, *after;
};

/* 0, or a negative errno value with the reason. Close it in any case. */
int spex_edge_open(struct spex_edge *edge, const struct spex_recording *trace, size_t process,
                   uint64_t at, struct spex_error *error);
void spex_edge_close(struct spex_edge *edge);

/* Takes notice of a record, of whatever time. */
static inline void spex_edge_add(struct spex_edge *edge, const struct spex_recording_event *event) {
    uint64_t ticks = event->record.timestamp;
    if (ticks < edge->from || ticks >= edge->to)
        return;
    struct spex_edge_sums *sums = ticks < edge->at ? edge->before : edge->after;
    sums += event->class - event->process->journal.classes;
    sums->weight += event->record.weight;
    sums->records++;
}

/* The profile at the moment, without values; `variances` gets the variance of each row's count, to
 * be freed. 0 or -ENOMEM; free the profile in any case. */
int spex_edge_profile(const struct spex_edge *edge, struct spex_profile *profile,
                      double **variances);

#endif
