/* SPDX-License-Identifier: MIT */
/* Looks for the end of the warm-up whenever there are a tenth more records, by the figures of all
 * records since the first. These figures tell whether the series has settled and not their values,
 * so they need no histograms. The latest records are kept to be used when the end is seen. */
#include "measure/warmup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "measure/figure.h"

/* Records in the first batches, as in MSER-5 (steady.c). */
#define BATCH_RECORDS 5

/* A warm-up is not looked for in a smaller share of the time that a run may take. */
#define LEAST_SHARE 0.01

/* Change that does not count, where the rules give no precision. */
#define TOLERANCE 0.01

/* The search for the end of a warm-up. `records` are the latest `count`, in the order of time. */
struct spex_warmup {
    const struct spex_space *space;
    double least_ticks;
    /* By criterion, over all records since the first. */
    struct spex_figure *figures;
    /* Records of the first criterion when the warm-up was last looked for. */
    uint64_t looked_records;
    struct spex_record *records;
    size_t count;
    size_t room;
};

/* A short run is not looked at before LEAST_SHARE of its time: a few records settle by chance. */
int spex_warmup_create(const struct spex_space *space, double ticks_per_second,
                       struct spex_warmup **out) {
    struct spex_warmup *warmup = spex_calloc(1, sizeof(*warmup));
    *out = warmup;
    if (!warmup)
        return -ENOMEM;
    warmup->space = space;
    warmup->least_ticks = LEAST_SHARE * space->rules.duration_seconds * ticks_per_second;
    warmup->figures = spex_calloc(space->criterion_count, sizeof(*warmup->figures));
    int err = warmup->figures ? 0 : -ENOMEM;
    for (size_t c = 0; c < space->criterion_count && !err; c++)
        err = spex_figure_open(&warmup->figures[c], &space->criteria[c], BATCH_RECORDS, false);
    if (!err)
        return 0;
    spex_warmup_destroy(warmup);
    *out = NULL;
    return err;
}

void spex_warmup_destroy(struct spex_warmup *warmup) {
    if (!warmup)
        return;
    for (size_t c = 0; warmup->figures && c < warmup->space->criterion_count; c++)
        spex_figure_close(&warmup->figures[c]);
    spex_free(warmup->figures);
    spex_free(warmup->records);
    spex_free(warmup);
}

void spex_warmup_probe(struct spex_warmup *warmup, size_t criterion, uint16_t probe_id,
                       uint32_t probe_type) {
    warmup->figures[criterion].probe_id = probe_id;
    warmup->figures[criterion].probe_type = probe_type;
}

/* Memory is bounded by SPEX_WARMUP_RECORDS. The older half is dropped: the end is seen a share of
 * the run after it, so the records needed are among the latest. */
static int warmup_make_room(struct spex_warmup *warmup) {
    if (warmup->count < warmup->room)
        return 0;
    if (warmup->room == SPEX_WARMUP_RECORDS) {
        warmup->count /= 2;
        memmove(warmup->records, warmup->records + warmup->count,
                warmup->count * sizeof(*warmup->records));
        return 0;
    }
    size_t room = warmup->room ? warmup->room * 2 : 1024;
    struct spex_record *records = spex_realloc(warmup->records, room * sizeof(*records));
    if (!records)
        return -ENOMEM;
    warmup->records = records;
    warmup->room = room;
    return 0;
}

/* The first record sets the time from which rates count. */
static void figure_add(struct spex_figure *figure, const struct spex_record *record) {
    if (figure->begun)
        spex_figure_add(figure, record);
    else
        spex_figure_begin(figure, record->timestamp);
}

/* Keeps records of all probes, since the tracer wants them, and adds each to the figures of its
 * probe. */
int spex_warmup_add(struct spex_warmup *warmup, const struct spex_record *records, size_t count) {
    for (size_t r = 0; r < count; r++) {
        if (warmup_make_room(warmup))
            return -ENOMEM;
        warmup->records[warmup->count++] = records[r];
        for (size_t c = 0; c < warmup->space->criterion_count; c++)
            if (spex_figure_is_of(&warmup->figures[c], &records[r]))
                figure_add(&warmup->figures[c], &records[r]);
    }
    return 0;
}

double spex_warmup_tolerance(const struct spex_rules *rules) {
    return rules->precision > 0 ? rules->precision / 2 : TOLERANCE;
}

/* Returns whether all criteria are steady. Criteria with too few records to tell are left out,
 * except the first. *from_ticks is the latest end of
 * a criterion's warm-up, or of its best guess. */
static bool criteria_are_steady(const struct spex_warmup *warmup, uint64_t *from_ticks) {
    double tolerance = spex_warmup_tolerance(&warmup->space->rules);
    bool steady = true;
    *from_ticks = 0;
    for (size_t c = 0; c < warmup->space->criterion_count; c++) {
        struct spex_figure_steady found = spex_figure_steady(&warmup->figures[c], tolerance);
        if (found.known && found.from_ticks > *from_ticks)
            *from_ticks = found.from_ticks;
        steady = steady && (found.known ? found.steady : c > 0);
    }
    return steady;
}

/* Looking costs O(n²) for n batches, so it is done at numbers of records that grow by a tenth. */
bool spex_warmup_over(struct spex_warmup *warmup, uint64_t *from_ticks) {
    const struct spex_figure *first = warmup->figures;
    *from_ticks = 0;
    if ((double)(first->last_ticks - first->begin_ticks) < warmup->least_ticks ||
        first->records <= warmup->looked_records + warmup->looked_records / 10)
        return false;
    warmup->looked_records = first->records;
    return criteria_are_steady(warmup, from_ticks);
}

uint64_t spex_warmup_best(const struct spex_warmup *warmup) {
    uint64_t from_ticks;
    criteria_are_steady(warmup, &from_ticks);
    return from_ticks;
}

const struct spex_record *spex_warmup_records(const struct spex_warmup *warmup, size_t *count) {
    *count = warmup->count;
    return warmup->records;
}
