/* SPDX-License-Identifier: MIT */
/* What the exported records of each probe stand for, which a sampled trace must say of itself. */
#ifndef SPEX_TOOLS_EXPORT_SAMPLES_H
#define SPEX_TOOLS_EXPORT_SAMPLES_H

#include <stdlib.h>

#include "tools/export/labels.h"

/* Of one class of events. */
struct spex_sample {
    uint64_t records;
    /* Executions that they stand for. */
    uint64_t weight;
};

/* By the number of the label. NULL: no memory. */
static inline struct spex_sample *spex_samples_make(const struct spex_labels *labels) {
    return calloc(labels->count + 1, sizeof(struct spex_sample));
}

static inline struct spex_sample *spex_samples_add(struct spex_sample *samples,
                                                   const struct spex_label *label,
                                                   const struct spex_record *record) {
    struct spex_sample *sample = &samples[label->number];
    sample->records++;
    sample->weight += record->weight;
    return sample;
}

#endif
