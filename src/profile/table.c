/* SPDX-License-Identifier: MIT */
/* Each probe has a row for its first value, one more for each further value, and below each the
 * margins of its figures where they come from a sample. A polled probe has rows for the share of
 * time and the mean number of threads, below those of its records if there are any. Functions
 * named add_… fill cells from left to right. */
#include "profile/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "profile/table_notes.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

enum { QUANTILES = SPEX_FIGURES_QUANTILES, TEXT = 32 };

/* Columns: those of the probe, those of a value, and one for losses. */
enum { HEAD = 5, VALUE = 4 + QUANTILES };

/* The unit of a value. */
struct unit {
    bool time;
    double seconds; /* seconds of a tick; 0: not known yet */
};

/* `margin` 0: the number is exact. */
static void add_number(struct spex_columns *columns, double number, double margin) {
    char text[TEXT];
    spex_columns_add(columns, "%s", spex_quantity_text(number, margin, "", text, sizeof(text)));
}

/* A SNAPSHOT has numbered values: the program alone knows what they are. */
const char *spex_value_name(uint32_t probe_type, unsigned n) {
    static const char *const numbered[] = {"v0", "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                           "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"};
    switch (probe_type) {
    case SPEX_LAT:
    case SPEX_TPT:
    case SPEX_KERNEL:
    case SPEX_SPAN:
        return "time";
    case SPEX_LLC:
        return n == 0 ? "references" : "misses";
    case SPEX_FLT:
        return "faults";
    case SPEX_CTXSW:
        return "switches";
    case SPEX_PERFCNTR:
        return "events";
    default:
        return numbered[n % 16];
    }
}

/* The unit of the probe's values: seconds by the tick, or none. */
static struct unit unit_of(const struct spex_profile *profile,
                           const struct spex_profile_probe *probe) {
    double rate = profile->process.ticks_per_second;
    return (struct unit){.time = spex_probe_type_ticks(probe->probe_type),
                         .seconds = rate > 0 ? 1 / rate : 0};
}

/* Adds `count` cells with the same text. */
static void add_cells(struct spex_columns *columns, const char *text, unsigned count) {
    for (unsigned c = 0; c < count; c++)
        spex_columns_add(columns, "%s", text);
}

/* Adds a value: as a duration if it is a time, "-" while the length of a tick is not known. */
static void add_value(struct spex_columns *columns, double value, struct unit unit) {
    char text[TEXT];
    if (!isfinite(value) || (unit.time && !(unit.seconds > 0)))
        spex_columns_add(columns, "-");
    else if (!unit.time)
        add_number(columns, value, 0);
    else
        spex_columns_add(columns, "%s",
                         spex_duration_text(value * unit.seconds, text, sizeof(text)));
}

/* Adds the cells of a value: name, mean, quantiles, greatest, total. The total is the mean times
 * the executions, also those without a record. */
static void add_values(struct spex_columns *columns, const char *name,
                       const struct spex_figures *figures, struct unit unit) {
    spex_columns_add(columns, "%s", name);
    add_value(columns, figures->mean, unit);
    for (unsigned q = 0; q < QUANTILES; q++)
        add_value(columns, figures->quantiles[q].value, unit);
    add_value(columns, figures->max, unit);
    if (isnan(figures->total))
        spex_columns_add(columns, "?");
    else
        add_value(columns, figures->total, unit);
}

/* Adds a margin as a percentage of the figure above it. A figure that may be as far off as it is
 * large is as good as unknown. */
static void add_margin(struct spex_columns *columns, double margin, double value) {
    char text[TEXT];
    value = fabs(value);
    if (!(margin >= 0) || isnan(value) || margin > value)
        spex_columns_add(columns, "?");
    else if (value > 0)
        spex_columns_add(columns, "±%s", spex_percent_text(margin / value, 2, text, sizeof(text)));
    else
        spex_columns_add(columns, "±0");
}

/* Adds the distance of the quantile to the further end of its interval; "?": not known. */
static void add_quantile_margin(struct spex_columns *columns,
                                const struct spex_quantile *quantile) {
    /* There is no percentage of 0. */
    bool zero = quantile->low >= 0 && quantile->high <= 0;
    if (quantile->told && (fabs(quantile->value) > 0 || zero))
        add_margin(columns, fmax(quantile->high - quantile->value, quantile->value - quantile->low),
                   quantile->value);
    else
        spex_columns_add(columns, "?");
}

/* Margins of a value's row. */
static void add_value_margins(struct spex_columns *columns, const struct spex_figures *figures) {
    spex_columns_add(columns, "(95 %%)");
    add_margin(columns, figures->mean_margin, figures->mean);
    for (unsigned q = 0; q < QUANTILES; q++)
        add_quantile_margin(columns, &figures->quantiles[q]);
    spex_columns_add(columns, "%s", "");
    add_margin(columns, figures->total_margin, figures->total);
}

/* Adds the margin of the count, or of the executions per second, in a probe's first row, unless the
 * figure has none. */
static void add_count_margin(struct spex_columns *columns, double margin, double count,
                             unsigned series) {
    if (series == 0 && margin > 0 && margin <= count)
        add_margin(columns, margin, count);
    else
        add_cells(columns, "", 1);
}

/* Whether the mean is off by over 1 %, be it only because of what a span of nothing reads. */
static bool is_off_by_the_clock(const struct spex_figures *figures) {
    return figures->mean_margin > 0.01 * fabs(figures->mean);
}

/* Adds a row with the margins of the figures above it, where they matter. `figures` is
 * NULL for a probe without values. */
static void add_margins(struct spex_columns *columns, const struct spex_profile_probe *probe,
                        const struct spex_figures *figures, unsigned series) {
    double margin = spex_count_margin(probe), count = spex_profile_executions(probe);
    bool unsure = figures && figures->any && (figures->sampled || is_off_by_the_clock(figures));
    if (!unsure && !(margin > 0 && margin <= count))
        return;
    add_cells(columns, "", 3);
    add_count_margin(columns, margin, count, series);
    add_count_margin(columns, spex_rate_margin(probe), spex_profile_rate(probe), series);
    if (figures && figures->any)
        add_value_margins(columns, figures);
    spex_columns_end_row(columns);
}

/* Adds the number of lost records; "~": it is estimated, as the probe's share of its type's
 * losses. */
static void add_losses(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    spex_columns_add(columns, "%s%.0f", probe->lost_shared ? "~" : "",
                     probe->lost > 0 ? probe->lost : 0);
}

/* Adds the share of the time for which the budget held the probe off, where it did. */
static void add_off(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    char text[TEXT];
    if (spex_profile_off(probe) > 0)
        spex_columns_add(columns, "%s",
                         spex_percent_text(spex_profile_off(probe), 3, text, sizeof(text)));
    else
        spex_columns_end_row(columns);
}

/* Adds the count and the rate; "-" where the probe was always polled, which counts no executions.
 * Where the count may be as far off as it is large, it is that of the executions that were counted,
 * and more. */
static void add_count(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    bool known = spex_count_known(probe);
    if (!spex_profile_counted(probe))
        spex_columns_add(columns, "-");
    else
        spex_columns_add(columns, known ? "%.0f" : "≥%.0f",
                         known ? spex_profile_executions(probe) : probe->count);
    if (spex_profile_counted_seconds(probe) <= 0)
        spex_columns_add(columns, "-");
    else if (!spex_rate_known(probe))
        spex_columns_add(columns, "?");
    else
        add_number(columns, spex_profile_rate(probe), NAN);
}

/* Adds the cells of the probe: name, type, period or mean weight of its records, count and rate. */
static void add_head(struct spex_columns *columns, const struct spex_profile_probe *probe,
                     bool mixed) {
    char name[SPEX_PROBE_TEXT_BYTES];
    spex_columns_add(columns, "%s", spex_probe_text(probe, mixed, name, sizeof(name)));
    spex_columns_add(columns, "%s", spex_probe_type_name(probe->probe_type));
    if (spex_profile_polled(probe))
        spex_columns_add(columns, "polled");
    else if (probe->records)
        add_number(columns, spex_profile_one_in(probe), 0);
    else
        spex_columns_add(columns, "%u", probe->period_last);
    add_count(columns, probe);
}

/* Adds the cells of a polled probe's figure: a mean with its margin, unless that is larger, and the
 * corresponding time. */
static void add_looked(struct spex_columns *columns, const char *name, double mean, double margin,
                       const char *unit, double seconds) {
    char text[TEXT] = "?";
    if (margin >= 0 && margin <= mean)
        snprintf(text, sizeof(text), "%.2g", margin);
    spex_columns_add(columns, "%s", name);
    spex_columns_add(columns, "%.3g ±%s%s", mean, text, unit);
    add_cells(columns, "", QUANTILES + 1);
    if (seconds > 0)
        spex_columns_add(columns, "%s", spex_duration_text(seconds, text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
}

/* Adds the share of time in which at least one thread executed the polled probe. */
static void add_active(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    double share = spex_occupancy_share(&probe->activity);
    double margin = spex_occupancy_share_margin(&probe->activity);
    add_looked(columns, "active", 100 * share, 100 * margin, " %", share * probe->polled_seconds);
}

/* Adds the mean number of threads, unless it equals the share, as there was never more than one. */
static void add_threads(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    const struct spex_occupancy *activity = &probe->activity;
    double threads = spex_occupancy_threads(activity);
    if (activity->threads == activity->active)
        return;
    add_cells(columns, "", HEAD);
    add_looked(columns, "threads", threads, spex_occupancy_threads_margin(activity), "",
               threads * probe->polled_seconds);
    spex_columns_end_row(columns);
}

/* Adds the rows of a polled probe that are not its first row. */
static void add_activity(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    if (!probe->activity.looks)
        return;
    if (probe->series) { /* else it stands in the first row */
        add_cells(columns, "", HEAD);
        add_active(columns, probe);
        spex_columns_end_row(columns);
    }
    add_threads(columns, probe);
}

/* Adds the cells of a series of values, and returns its figures. */
static void add_series(struct spex_columns *columns, const struct spex_profile *profile,
                       const struct spex_profile_row *row, unsigned series,
                       struct spex_figures *figures) {
    const struct spex_profile_probe *probe = &row->probe;
    spex_figures_of(profile, row, series, figures);
    if (figures->any)
        add_values(columns, spex_value_name(probe->probe_type, series), figures,
                   unit_of(profile, probe));
    else
        add_cells(columns, "-", VALUE);
}

/* Adds all rows of a probe. */
static void add_row(struct spex_columns *columns, const struct spex_profile *profile,
                    const struct spex_profile_row *row, bool mixed) {
    const struct spex_profile_probe *probe = &row->probe;
    struct spex_figures figures;
    add_head(columns, probe, mixed);
    if (probe->series)
        add_series(columns, profile, row, 0, &figures);
    else if (probe->activity.looks)
        add_active(columns, probe);
    else
        add_cells(columns, "-", VALUE);
    add_losses(columns, probe);
    add_off(columns, probe);
    add_margins(columns, probe, probe->series ? &figures : NULL, 0);
    for (unsigned s = 1; s < probe->series; s++) {
        add_cells(columns, "", HEAD);
        add_series(columns, profile, row, s, &figures);
        spex_columns_end_row(columns);
        add_margins(columns, probe, &figures, s);
    }
    add_activity(columns, probe);
}

/* Prints what became of the records, so that produced = consumed + lost can be seen. */
static void print_accounts(FILE *file, const struct spex_profile_process *process) {
    fprintf(file, "%.3f s; records: %" PRIu64 " produced, %" PRIu64 " consumed, %" PRIu64 " lost",
            process->seconds, process->produced, process->consumed, process->lost);
    uint64_t gone = process->consumed + process->lost;
    if (process->produced > gone)
        fprintf(file, ", %" PRIu64 " still in rings", process->produced - gone);
    if (process->undelivered)
        fprintf(file, ", %" PRIu64 " consumed but not in this table", process->undelivered);
    if (process->unrecorded)
        fprintf(file, ", %" PRIu64 " not made for want of room", process->unrecorded);
    fputc('\n', file);
}

void spex_table_print(FILE *file, const struct spex_profile *profile) {
    static const char *const headings[] = {"probe", "type", "1 in",  "count", "per second",
                                           "value", "mean", "p50",   "p90",   "p99",
                                           "p99.9", "max",  "total", "lost",  "off"};
    SPEX_PLAIN_NUMBERS;
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 3);
    bool mixed = spex_profile_rows_mixed(profile);
    for (size_t r = 0; r < profile->row_count; r++)
        add_row(&columns, profile, &profile->rows[r], mixed);
    spex_columns_print(&columns, file);
    print_accounts(file, &profile->process);
    spex_table_notes(file, profile);
}
