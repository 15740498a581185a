/* SPDX-License-Identifier: MIT */
/* Sums of what the processes of a program have measured, for counters that others scrape. A process
 * that ends leaves its sums to its program, so that they do not fall when workers are replaced.
 * Nothing here is shared between threads. */
#ifndef SPEX_TOOLS_SERVE_SUMS_H
#define SPEX_TOOLS_SERVE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/figures.h"
#include "profile/profile.h"

/* Bounds of the buckets of times: ten a decade (the numbers R10 of ISO 3), from 10 ns to 100 s. They
 * are the same for all probes, so that buckets of several can be added; and 1, 2 and 5, the coarse
 * ones, are among them. */
enum {
    SPEX_SUMS_COARSE = 3,
    SPEX_SUMS_FINE = 10,
    SPEX_SUMS_BOUNDS = 10 * SPEX_SUMS_FINE + 1,
    SPEX_SUMS_BUCKETS = SPEX_SUMS_BOUNDS + 1
};

/* Buckets of native histograms: the first one of times up to SPEX_SUMS_ZERO, 2⁻³⁰ s; then eight for each power of
 * two (schema 3), each up to 9.05 % wide, to 2¹⁰ s; the last one has what is longer, too. Not
 * cumulative. */
enum {
    SPEX_SUMS_SCHEMA = 3,
    SPEX_SUMS_NATIVE_LEAST = -30,
    SPEX_SUMS_NATIVE_MOST = 10,
    SPEX_SUMS_NATIVES =
        1 + (SPEX_SUMS_NATIVE_MOST - SPEX_SUMS_NATIVE_LEAST) * (1 << SPEX_SUMS_SCHEMA),
    /* The number that the schema gives to the second one. */
    SPEX_SUMS_NATIVE_FIRST = SPEX_SUMS_NATIVE_LEAST * (1 << SPEX_SUMS_SCHEMA) + 1
};
#define SPEX_SUMS_ZERO 0x1p-30

/* In seconds. */
extern const double spex_sums_bounds[SPEX_SUMS_BOUNDS];

/* Whether it is one of so many a decade: SPEX_SUMS_COARSE or SPEX_SUMS_FINE. */
bool spex_sums_bound_is_of(size_t bound, unsigned per_decade);

/* Counters of a probe. */
enum spex_sums_count {
    SPEX_SUMS_EXECUTIONS,
    SPEX_SUMS_RECORDS,
    SPEX_SUMS_LOST,
    SPEX_SUMS_OVERHEAD,
    SPEX_SUMS_ON,
    SPEX_SUMS_HELD,
    SPEX_SUMS_COUNTS
};

/* The slowest recent execution of a probe of times. */
struct spex_sums_slowest {
    double seconds; /* 0: there is none */
    double at;      /* seconds since the epoch */
    uint32_t process_id, thread_id, cpu_id;
};

/* The quantiles that are told of recent times: the first ones of figures (profile/figures.h). */
enum { SPEX_SUMS_QUANTILES = SPEX_FIGURES_P99 + 1 };

/* In seconds, with the 95 % interval if `told`. */
struct spex_sums_quantile {
    double value, low, high;
    bool told;
};

struct spex_sums_probe {
    /* What names it: the same in all processes of a program. */
    char provider[SPEX_PROFILE_NAME_BYTES];
    char name[SPEX_PROFILE_NAME_BYTES];
    int32_t id;
    uint32_t type;
    /* The shortest period of processes in which it is on; 0: it is off in all. */
    uint32_t period;
    /* Series of values; of a time there is one, with buckets. */
    uint32_t series;
    double counts[SPEX_SUMS_COUNTS];
    /* How far the executions may be off: in 95 % of cases less. */
    double margin;
    /* Of each series: values, each with the executions that it stands for, and their sum. */
    double weight[SPEX_MAX_FIELDS];
    double sum[SPEX_MAX_FIELDS];
    /* The names of a snapshot's values, one after another; empty: there are none, or programs differ. */
    char names[SPEX_PROFILE_FILE_BYTES];
    /* Of the first series: values up to each bound, and all of them. Cumulative, so that the
     * greater of two is also one. */
    double buckets[SPEX_SUMS_BUCKETS];
    double natives[SPEX_SUMS_NATIVES];
    /* As `period`, of the present: of processes that answer. */
    struct spex_sums_slowest slowest;
    /* Of the recent time, if `recent`. */
    bool recent;
    struct spex_sums_quantile quantiles[SPEX_SUMS_QUANTILES];
};

/* Counters of a process or program. */
enum spex_sums_total {
    SPEX_SUMS_CPU,
    SPEX_SUMS_COLLECTOR_CPU,
    SPEX_SUMS_BUDGET_TIME,
    SPEX_SUMS_BUDGET_ALLOWED,
    SPEX_SUMS_BUDGET_SPENT,
    SPEX_SUMS_PRODUCED,
    SPEX_SUMS_RECORDS_LOST,
    SPEX_SUMS_UNDELIVERED,
    SPEX_SUMS_TOTALS
};

struct spex_sums {
    double totals[SPEX_SUMS_TOTALS];
    /* Gauges: the greatest budget, probe sites, and those that are on. */
    double budget;
    uint64_t sites, sites_on;
    /* By provider, name, id and type, once they are whole. */
    struct spex_sums_probe *probes;
    size_t count, room;
    /* Probes for which there was no room. */
    size_t left_out;
    /* Whose memory is taken; NULL: nobody's. */
    struct spex_share *share;
};

/* All zero but for the share are empty sums. */
void spex_sums_free(struct spex_sums *sums);

/* Leaves out as many of the last probes; they have no series any more. */
void spex_sums_cut(struct spex_sums *sums, size_t count);

/* Adds a row of a profile to sums that are of `most` probes at most. 0, -ENOMEM or -EDQUOT. */
int spex_sums_take(struct spex_sums *sums, const struct spex_profile *profile,
                   const struct spex_profile_row *row, size_t most);

/* The sums are whole: they have all rows of the profile. */
void spex_sums_end(struct spex_sums *sums, const struct spex_profile *profile);

/* Adds sums to others, which then have `most` probes at most, and fewer where their share is used
 * up. `gauges`: also what is of the
 * present. 0 or -ENOMEM. */
int spex_sums_add(struct spex_sums *to, const struct spex_sums *from, size_t most, bool gauges);

/* Sets the quantiles of all probes of times to those of a profile, which is of the recent time; NULL:
 * none are known. */
void spex_sums_quantiles(struct spex_sums *sums, const struct spex_profile *recent);

/* Raises counters to those of `now`, and replaces gauges. Estimates may fall, counters that are
 * scraped may not. 0 or -ENOMEM. */
int spex_sums_raise(struct spex_sums *shown, const struct spex_sums *now, size_t most);

#endif
