/* SPDX-License-Identifier: MIT */
/* One criterion over a stretch of its probe's records: its value, how sure that is, and whether it
 * has settled. */
#ifndef SPEX_MEASURE_FIGURE_FIGURE_H
#define SPEX_MEASURE_FIGURE_FIGURE_H

#include <spex/policy.h>
#include <spex/record.h>

#include "measure/figure/batch_means.h"

enum spex_figure_metric {
    SPEX_FIGURE_RATE,
    SPEX_FIGURE_MEAN,
    SPEX_FIGURE_MIN,
    SPEX_FIGURE_MAX,
    SPEX_FIGURE_QUANTILE
};

/* Errors that were told while the number of records doubled, a twentieth more of them each time,
 * are fewer. */
#define SPEX_FIGURE_LOOKS 32

/* The error as it was. */
struct spex_figure_look {
    uint64_t records;
    double error;
};

struct spex_figure {
    uint16_t probe_id;
    uint32_t probe_type; /* 0: not known yet */
    enum spex_figure_metric metric;
    double q; /* of a quantile */
    unsigned field;
    bool begun;
    uint64_t begin_ticks;
    uint64_t last_ticks; /* of the latest record */
    uint64_t records;
    struct spex_batch_means means;

    struct spex_measured measured;
    uint64_t measured_records;                        /* as of which this is */
    uint64_t first_error_records;                     /* 0: there has been none */
    struct spex_figure_look looks[SPEX_FIGURE_LOOKS]; /* the latest, by number */
    size_t look_count;
};

/* Whether it has settled, and when. */
struct spex_figure_steady {
    bool known; /* it has enough records to tell */
    bool steady;
    uint64_t from_ticks;
};

/* `values`: of a quantile its value is wanted, and not only whether it has settled. 0 or
 * -ENOMEM. */
int spex_figure_open(struct spex_figure *figure, const struct spex_criterion *criterion,
                     uint64_t batch_records, bool values);
void spex_figure_close(struct spex_figure *figure);

bool spex_figure_is_of(const struct spex_figure *figure, const struct spex_record *record);

/* From when on rates count. */
void spex_figure_begin(struct spex_figure *figure, uint64_t ticks);

/* A record of its probe. */
void spex_figure_add(struct spex_figure *figure, const struct spex_record *record);

/* Looks at it anew when there are a twentieth more records than the last time, or at the end.
 *
 * Who waits until an error is small stops when it happens to be too small. So it is the greatest
 * that was found while the number of records doubled, by the records there are now; and before the
 * end there is none until it has been looked at for so long, and of the first fifty records. */
struct spex_measured spex_figure_measured(struct spex_figure *figure, double ticks_per_second,
                                          bool end);

/* A change of less than `tolerance`, a share, does not matter. */
struct spex_figure_steady spex_figure_steady(const struct spex_figure *figure, double tolerance);

#endif
