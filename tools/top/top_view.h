/* SPDX-License-Identifier: MIT */
/* The table of `spex top`: a row for each probe, on or off, sorted and filtered, with a cursor. It
 * does not depend on a terminal, so that tests can use it. */
#ifndef SPEX_TOOLS_TOP_TOP_VIEW_H
#define SPEX_TOOLS_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "site/provider.h"

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
    SPEX_TOP_OFF,
    SPEX_TOP_LOST,
    SPEX_TOP_COLUMNS
};

/* The time that figures are of: the last interval, or all since the start. */
enum spex_top_span { SPEX_TOP_INTERVAL, SPEX_TOP_START, SPEX_TOP_SPANS };

struct spex_top_figures {
    bool has_rate, has_values, has_share;
    bool lost_shared, rate_at_least;
    /* Executions a second while the probe was on, or, by slices of the time, was held off; or what
     * they are at least. */
    double rate;
    /* Figures of the probe's first value: seconds, or a number. */
    double mean, p50, p99, max;
    /* Seconds that threads spend within the probe, a second: no more than there are threads, of all
     * but spans. */
    double share;
    double lost;
    /* The share of the time for which the budget held the probe off. */
    double off;
};

struct spex_top_row {
    uint32_t type;
    /* The number in the process, by which rows are found, and the developer's id. */
    uint16_t number;
    int32_t id;
    /* The name; the id where the probe has none. In front stands the provider if there are
     * several. */
    char name[SPEX_PROBE_TEXT_BYTES];
    /* What its first value is. */
    char value[SPEX_PROFILE_FILE_BYTES];
    /* Selects the probe of any type. */
    char chosen[SPEX_PROBE_TEXT_BYTES];
    /* Sites that are loaded, and of them those that are on. */
    uint32_t sites, sites_on;
    /* The shortest period of its sites, 0 when all are off, and the kind and burst of that
     * sampling. */
    uint32_t period, kind, burst;
    /* How many of sites_on are polled, and so have no period. */
    uint32_t polled;
    /* The shortest period that the developers chose. */
    uint32_t subsample;
    struct spex_top_figures figures[SPEX_TOP_SPANS];
};

enum { SPEX_TOP_FILTER_BYTES = 64, SPEX_TOP_HEAD_LINES = 2, SPEX_TOP_HEAD_BYTES = 256 };

struct spex_top_view {
    /* All rows, in the order of id and type. */
    struct spex_top_row *rows;
    size_t row_count;
    /* Indices of the rows that pass the filter, in the order of the table. */
    size_t *shown;
    size_t shown_count;
    /* An index of `shown`, and the id and type of the row that the user chose with it. */
    size_t cursor;
    struct spex_top_row at;
    enum spex_top_span span;
    /* There is no interval yet: rows are in the order of all since the start. */
    bool early;
    enum spex_top_column sort;
    bool reversed;
    char filter[SPEX_TOP_FILTER_BYTES];
    char head[SPEX_TOP_SPANS][SPEX_TOP_HEAD_LINES][SPEX_TOP_HEAD_BYTES];
};

/* Reads the seconds from one refresh to the next: 0.05 to 3600. False when `text` is no such
 * number. */
bool spex_top_delay(const char *text, double *seconds);

/* A view that is all zero but for `sort` is empty. */
void spex_top_view_free(struct spex_top_view *view);

/* Replaces the rows by those of a profile. `difference`: the profile of the last interval, or NULL.
 * The cursor stays at its probe. 0; -ENOMEM leaves the view as it was. */
int spex_top_view_fill(struct spex_top_view *view, const struct spex_profile *now,
                       const struct spex_profile *difference);

/* Sorts and filters again, after a change of span, sort or filter. The cursor stays at its probe,
 * or near its place. */
void spex_top_view_arrange(struct spex_top_view *view);

/* Moves the cursor `by` rows down; up when negative. */
void spex_top_view_move(struct spex_top_view *view, long by);

/* Sorts by the next column (1) or the one before (-1). */
void spex_top_view_sort(struct spex_top_view *view, int by);

/* The row under the cursor; NULL when none is shown. */
struct spex_top_row *spex_top_view_current(const struct spex_top_view *view);

/* Make the selection that switches the probe on, or off when any of its sites is on; and the
 * selection that doubles or halves its period. The row is changed as if the program had taken the
 * selection, until the next profile comes. 0; -EINVAL when nothing can be done, with the reason in
 * `selection`. */
int spex_top_row_toggle(struct spex_top_row *row, char *selection, size_t size);
int spex_top_row_period(struct spex_top_row *row, bool longer, char *selection, size_t size);

/* The text of a cell: numbers in `width` characters, where they can be; the heading of a column;
 * whether a column is text. */
void spex_top_cell(const struct spex_top_row *row, enum spex_top_span span,
                   enum spex_top_column column, int width, char *text, size_t size);
const char *spex_top_heading(enum spex_top_column column);
bool spex_top_column_is_text(enum spex_top_column column);

#endif
