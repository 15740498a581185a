/* SPDX-License-Identifier: MIT */
#include "trace/read/batches.h"

#include <errno.h>
#include <stdlib.h>

#include "ring/probe_type.h"

/* RECORDS: of one batch. CPUS: more share a place. */
enum { RECORDS = 256, CPUS = 64, PLACES = CPUS * SPEX_PROBE_TYPES };

struct batch {
    uint16_t cpu;
    size_t count;
    struct spex_record records[RECORDS];
};

struct spex_batches {
    struct spex_tracer *tracer;
    struct batch *of[PLACES];
};

struct spex_batches *spex_batches_create(struct spex_tracer *tracer) {
    struct spex_batches *batches = calloc(1, sizeof(*batches));
    if (batches)
        batches->tracer = tracer;
    return batches;
}

void spex_batches_destroy(struct spex_batches *batches) {
    for (unsigned p = 0; batches && p < PLACES; p++)
        free(batches->of[p]);
    free(batches);
}

static int batch_end(struct spex_batches *batches, struct batch *batch) {
    size_t count = batch->count;
    batch->count = 0;
    return count ? spex_tracer_add(batches->tracer, batch->records, count) : 0;
}

/* A record that follows a loss begins a batch. */
int spex_batches_add(struct spex_batches *batches, const struct spex_record *record) {
    struct batch **place = &batches->of[record->cpu_id % CPUS * SPEX_PROBE_TYPES +
                                        spex_probe_type_ring(record->probe_type)];
    if (!*place && !(*place = calloc(1, sizeof(**place))))
        return -ENOMEM;
    struct batch *batch = *place;
    int err = 0;
    if (batch->count == RECORDS || record->lost || batch->cpu != record->cpu_id)
        err = batch_end(batches, batch);
    batch->cpu = record->cpu_id;
    batch->records[batch->count++] = *record;
    return err;
}

int spex_batches_finish(struct spex_batches *batches) {
    int err = 0;
    for (unsigned p = 0; !err && p < PLACES; p++)
        if (batches->of[p])
            err = batch_end(batches, batches->of[p]);
    return err;
}
