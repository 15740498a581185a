/* SPDX-License-Identifier: MIT */
/* A table from context to kernel, so that paths and parameters' names are looked up once per
 * context and not for each record. Contexts of records have been checked (spex_kernel_record_sound)
 * before they index the table. */
#include "kernels/record_judge.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdlib.h>

/* The detector, and the kernels that it knows by the numbers of their contexts. */
struct spex_record_judge {
    struct spex_anomalies *anomalies;
    const struct spex_kernels_known *known;
    struct spex_instant begin;
    double ticks_per_second;
    uint64_t left_out;
    /* NULL: the context has not occurred yet. */
    struct spex_watched *by_context[SPEX_CONTEXTS_MAX + 1];
    struct spex_kernel_described described;
};

int spex_record_judge_create(struct spex_record_judge **judge, struct spex_anomalies *anomalies,
                             const struct spex_kernels_known *known, struct spex_instant begin,
                             double ticks_per_second) {
    struct spex_record_judge *made = spex_calloc(1, sizeof(*made));
    *judge = made;
    if (!made)
        return -ENOMEM;
    made->anomalies = anomalies;
    made->known = known;
    made->begin = begin;
    made->ticks_per_second = ticks_per_second;
    return 0;
}

void spex_record_judge_destroy(struct spex_record_judge *judge) {
    spex_free(judge);
}

/* Finds the kernel of a record. A record whose path or parameters are not known is looked up as "",
 * which has no model, so that its execution is counted as not judged for that reason. */
static int kernel_find(struct spex_record_judge *judge, const struct spex_record *record,
                       struct spex_watched **kernel) {
    struct spex_kernel_described *described = &judge->described;
    struct spex_error error;
    bool known = spex_kernel_describe(judge->known, record, described, &error) == 0;
    return spex_anomalies_kernel(judge->anomalies, known ? described->path : "", described->names,
                                 described->count, kernel);
}

/* The difference of ticks is signed: a record may have been made before `begin`. */
static int record_take(struct spex_record_judge *judge, const struct spex_record *record) {
    struct spex_watched **kernel = &judge->by_context[record->fields[1]];
    double values[SPEX_MAX_FIELDS];
    int err = *kernel ? 0 : kernel_find(judge, record, kernel);
    if (err)
        return err;
    spex_kernel_parameters(record, values);
    const struct spex_execution execution = {
        .parameters = values,
        .seconds = (double)record->fields[0] / judge->ticks_per_second,
        .weight = record->weight,
        .end = (double)(int64_t)(record->timestamp - judge->begin.ticks) / judge->ticks_per_second,
        .thread = record->thread_id,
    };
    spex_anomalies_take(judge->anomalies, *kernel, &execution);
    return 0;
}

/* Records of weight 0 are samples of executions that have not ended. */
int spex_record_judge_take(struct spex_record_judge *judge, const struct spex_record *records,
                           size_t count) {
    int err = 0;
    for (size_t r = 0; r < count && !err; r++) {
        if (records[r].probe_type != SPEX_KERNEL || !records[r].weight)
            continue;
        bool sound = spex_kernel_record_sound(judge->known, &records[r]);
        judge->left_out += !sound;
        if (sound)
            err = record_take(judge, &records[r]);
    }
    return err;
}

uint64_t spex_record_judge_left_out(const struct spex_record_judge *judge) {
    return judge->left_out;
}
