/* SPDX-License-Identifier: MIT */
/* A profile that a test makes up, and the table of it. */
#ifndef SPEX_TEST_MADE_PROFILE_H
#define SPEX_TEST_MADE_PROFILE_H

#include "../check.h"
#include "profile/table.h"
#include "queues/ring.h"
#include "stats/tracer.h"

enum { TICKS = 1000000000 };

static struct spex_profile_row rows[8];
static struct spex_profile_type types[4];
static struct spex_tracer *tracer;
static struct spex_profile profile;
static struct spex_table_look look;

static inline int setup(void **state) {
    (void)state;
    memset(rows, 0, sizeof(rows));
    memset(types, 0, sizeof(types));
    look = (struct spex_table_look){.width = 120};
    profile = (struct spex_profile){
        .process = {.commit = SPEX_COMMIT_RSEQ,
                    .ring_cpus = 2,
                    .ring_bytes = 3 << 20,
                    .ticks_per_second = TICKS,
                    .seconds = 2},
        .types = types,
        .rows = rows,
    };
    return spex_tracer_create(&tracer);
}

static inline int teardown(void **state) {
    (void)state;
    spex_tracer_destroy(tracer);
    return 0;
}

static inline void record(uint32_t type, uint16_t id, uint32_t weight, uint64_t a, uint64_t b,
                          uint32_t marks) {
    struct spex_record one = {.probe_type = type,
                              .probe_id = id,
                              .weight = weight,
                              .marks = (uint8_t)marks,
                              .field_count = type == SPEX_LLC || type == SPEX_SNAPSHOT ? 2 : 1,
                              .fields = {a, b}};
    if (type == SPEX_CNT || type == SPEX_TPT) { /* the weight comes first */
        one.field_count = type == SPEX_TPT ? 2 : 1;
        one.fields[0] = weight;
        one.fields[1] = a;
    }
    assert_int_equal(spex_tracer_add(tracer, &one, 1), 0);
}

/* Its records, where there are any, are in the tracer; on for two seconds. */
static inline struct spex_profile_probe *row(uint32_t type, uint16_t id, const char *name) {
    assert_true(profile.row_count < sizeof(rows) / sizeof(rows[0]));
    struct spex_profile_row *made = &rows[profile.row_count++];
    struct spex_metrics metrics = {0};
    size_t at = spex_tracer_find(tracer, id, type);
    if (at < spex_tracer_probes(tracer))
        spex_tracer_metrics(tracer, at, &metrics);
    made->probe = (struct spex_profile_probe){.probe_type = type,
                                              .probe_id = id,
                                              .series = (uint16_t)metrics.series,
                                              .on_seconds = 2,
                                              .count = metrics.count,
                                              .weight = metrics.weight,
                                              .weight_squares = metrics.weight_squares,
                                              .records = metrics.records,
                                              .period_last = 1};
    memcpy(made->probe.marked, metrics.marked, sizeof(metrics.marked));
    snprintf(made->probe.name, sizeof(made->probe.name), "%s", name);
    for (unsigned s = 0; s < metrics.series; s++)
        made->values[s] = spex_tracer_values(tracer, at, s);
    return &made->probe;
}

static inline void type(uint32_t probe_type, uint32_t pcid, bool used, bool measured) {
    types[profile.type_count++] = (struct spex_profile_type){.probe_type = probe_type,
                                                             .pcid = pcid,
                                                             .used = used,
                                                             .measured = measured,
                                                             .skip = 2,
                                                             .record = 20};
}

/* The table as text, which the caller frees. */
static inline char *table_text(void) {
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_print(file, &profile, look);
    assert_int_equal(fclose(file), 0);
    return text;
}

static inline void expect(const char *expected) {
    char *text = table_text();
    assert_string_equal(text, expected);
    free(text);
}

#endif
