/* SPDX-License-Identifier: MIT */
/* What `spex top` shows of a program, and how: a row for each probe, those that are off too; sorted, filtered, with
 * one under the cursor. It knows no terminal. */
#ifndef SPEX_TOP_VIEW_H
#define SPEX_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

enum spex_top_column {
    SPEX_TOP_PERIOD,
    SPEX_TOP_PROBE,
    SPEX_TOP_ID,
    SPEX_TOP_TYPE,
    SPEX_TOP_RATE,
    SPEX_TOP_VALUE,
    SPEX_TOP_MEAN,
    SPEX_TOP_P50,
    SPEX_TOP_P99,
    SPEX_TOP_MAX,
    SPEX_TOP_SHARE,
    SPEX_TOP_LOST,
    SPEX_TOP_COLUMNS
};

/* Figures are of the last interval, or since the start. */
enum spex_top_span { SPEX_TOP_INTERVAL, SPEX_TOP_START, SPEX_TOP_SPANS };

struct spex_top_figures {
    bool has_rate, has_values, has_share;
    bool lost_shared;
    double rate;                /* executions a second, while it was on */
    double mean, p50, p99, max; /* of its first value: seconds, or a number */
    double share;               /* seconds within it, a second; of times, and of what is probed */
    double lost;
};

struct spex_top_row {
    uint32_t type;
    uint16_t id;
    char name[SPEX_PROFILE_NAME_BYTES]; /* or the id */
    uint32_t sites;                     /* loaded */
    uint32_t sites_on;
    uint32_t period; /* the shortest; 0: off */
    uint32_t kind;   /* of sampling, with that */
    uint32_t burst;
    uint32_t probed;    /* of sites_on: those that are probed, which have no period */
    uint32_t subsample; /* the shortest of those that the developers chose */
    struct spex_top_figures figures[SPEX_TOP_SPANS];
};

enum { SPEX_TOP_FILTER_BYTES = 64, SPEX_TOP_HEAD_LINES = 2, SPEX_TOP_HEAD_BYTES = 256 };

struct spex_top_view {
    struct spex_top_row *rows; /* by id and type */
    size_t row_count;
    size_t *shown; /* numbers of rows */
    size_t shown_count;
    size_t cursor;          /* in `shown` */
    struct spex_top_row at; /* the row that was chosen with it: id and type */
    enum spex_top_span span;
    enum spex_top_column sort;
    bool reversed;
    char filter[SPEX_TOP_FILTER_BYTES];
    char head[SPEX_TOP_SPANS][SPEX_TOP_HEAD_LINES][SPEX_TOP_HEAD_BYTES];
};

/* Reads the seconds from one refresh to the next: 0.05 to 3600. False when `text` is no such number. */
bool spex_top_delay(const char *text, double *seconds);

/* All zero but `sort` is an empty view. */
void spex_top_view_free(struct spex_top_view *view);

/* Takes a profile in; `difference` is what happened in the last interval, or NULL. The cursor stays at its probe. 0 or
 * -ENOMEM: the view is as it was. */
int spex_top_view_fill(struct spex_top_view *view, const struct spex_profile *now,
                       const struct spex_profile *difference);

/* After a change of span, sorting or filter. The cursor stays at its probe, or else near its place. */
void spex_top_view_arrange(struct spex_top_view *view);

/* `by` rows down, or up; not beyond the ends. */
void spex_top_view_move(struct spex_top_view *view, long by);

/* The next column to sort by, or the one before. */
void spex_top_view_sort(struct spex_top_view *view, int by);

/* The row under the cursor; NULL when none is shown. */
struct spex_top_row *spex_top_view_current(const struct spex_top_view *view);

/* What to send to the program so that the probe goes on, or off when a site of it is on; and so that its period is
 * twice what it is, or half. The row is changed as if the program had done so, until the next profile. 0; or -EINVAL
 * when there is nothing to be done, with the reason for the selection. */
int spex_top_row_toggle(struct spex_top_row *row, char *selection, size_t size);
int spex_top_row_period(struct spex_top_row *row, bool longer, char *selection, size_t size);

/* A cell; its column's heading, and whether it is text. */
void spex_top_cell(const struct spex_top_row *row, enum spex_top_span span,
                   enum spex_top_column column, char *text, size_t size);
const char *spex_top_heading(enum spex_top_column column);
bool spex_top_column_is_text(enum spex_top_column column);

#endif
