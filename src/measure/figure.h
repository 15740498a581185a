/* SPDX-License-Identifier: MIT */
/* A criterion's value over a series of records of its probe, the value's error, and whether the
 * series has settled. */
#ifndef SPEX_MEASURE_FIGURE_H
#define SPEX_MEASURE_FIGURE_H

#include <spex/policy.h>
#include <spex/record.h>

#include "measure/batch_means.h"

enum spex_figure_metric {
    SPEX_FIGURE_RATE,
    SPEX_FIGURE_MEAN,
    SPEX_FIGURE_MIN,
    SPEX_FIGURE_MAX,
    SPEX_FIGURE_QUANTILE
};

/* Errors that are kept: more than are found while the number of records doubles, one for each
 * twentieth more records. */
#define SPEX_FIGURE_LOOKS 32

/* The error at an earlier number of records. */
struct spex_figure_look {
    uint64_t records;
    double error;
};

struct spex_figure {
    uint16_t probe_id;
    /* 0: the probe is not known yet. */
    uint32_t probe_type;
    enum spex_figure_metric metric;
    /* The q of a quantile, 0 to 1. */
    double q;
    unsigned field;
    bool begun;
    uint64_t begin_ticks;
    /* Time of the latest record. */
    uint64_t last_ticks;
    uint64_t records;
    struct spex_batch_means means;

    struct spex_measured measured;
    /* Number of records when `measured` was computed. */
    uint64_t measured_records;
    /* Number of records at the first error; 0: there has been none. */
    uint64_t first_error_records;
    /* The latest errors, by number modulo SPEX_FIGURE_LOOKS. */
    struct spex_figure_look looks[SPEX_FIGURE_LOOKS];
    size_t look_count;
};

/* Tells whether the series has settled, and when. */
struct spex_figure_steady {
    /* There are enough records to tell. */
    bool known;
    bool steady;
    uint64_t from_ticks;
};

/* `values`: a quantile's value is wanted, and not only whether it has settled. 0 or -ENOMEM. */
int spex_figure_open(struct spex_figure *figure, const struct spex_criterion *criterion,
                     uint64_t batch_records, bool values);
void spex_figure_close(struct spex_figure *figure);

/* Returns whether the record is of the figure's probe. */
bool spex_figure_is_of(const struct spex_figure *figure, const struct spex_record *record);

/* Sets the time from which rates count. */
void spex_figure_begin(struct spex_figure *figure, uint64_t ticks);

/* Adds a record of the figure's probe. Records are in the order of time. */
void spex_figure_add(struct spex_figure *figure, const struct spex_record *record);

/* The value and its error. They are computed again when there are a twentieth more records than the
 * last time, or at the end.
 *
 * A run that stops at the first small error stops when the error happens to be too small. Therefore
 * the error is the greatest that was found while the number of records doubled, scaled to the
 * records there are now. Before the end there is no error until errors have been found for that
 * long, and none for the first fifty records. */
struct spex_measured spex_figure_measured(struct spex_figure *figure, double ticks_per_second,
                                          bool end);

/* Judges whether the series has settled. A change of less than `tolerance`, a share, does not
 * count. */
struct spex_figure_steady spex_figure_steady(const struct spex_figure *figure, double tolerance);

#endif
