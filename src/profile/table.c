/* SPDX-License-Identifier: MIT */
#include "profile/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/table_notes.h"
#include "ring/probe_type.h"
#include "site/provider.h"

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]), TEXT = 32 };

/* Columns: those of the probe, those of a value, and one for losses. */
enum { HEAD = 5, VALUE = 4 + QUANTILES };

/* The unit of a value. */
struct unit {
    bool time;
    double seconds; /* a tick's; 0: not known yet */
};

/* Adds a number with at least six significant digits, and without an exponent below 1e15. */
static void add_number(struct spex_columns *columns, double number) {
    spex_columns_add(columns, number >= 1e5 && number < 1e15 ? "%.0f" : "%.6g", number);
}

const char *spex_value_name(uint32_t probe_type, unsigned n) {
    static const char *const numbered[] = {"v0", "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                           "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"};
    switch (probe_type) {
    case SPEX_LAT:
    case SPEX_TPT:
    case SPEX_KERNEL:
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

static struct unit unit_of(const struct spex_profile *profile,
                           const struct spex_profile_probe *probe) {
    double rate = profile->process.ticks_per_second;
    return (struct unit){.time = spex_probe_type_ticks(probe->probe_type),
                         .seconds = rate > 0 ? 1 / rate : 0};
}

static void add_cells(struct spex_columns *columns, const char *text, unsigned count) {
    for (unsigned c = 0; c < count; c++)
        spex_columns_add(columns, "%s", text);
}

static void add_value(struct spex_columns *columns, double value, struct unit unit) {
    char text[TEXT];
    if (!unit.time)
        add_number(columns, value);
    else if (unit.seconds > 0)
        spex_columns_add(columns, "%s",
                         spex_duration_text(value * unit.seconds, text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
}

static void add_values(struct spex_columns *columns, const struct spex_profile_row *row,
                       unsigned series, struct unit unit) {
    const struct spex_values *values = row->values[series];
    spex_columns_add(columns, "%s", spex_value_name(row->probe.probe_type, series));
    add_value(columns, values->mean, unit);
    for (unsigned q = 0; q < QUANTILES; q++)
        add_value(columns, spex_values_quantile(values, quantiles[q]), unit);
    add_value(columns, (double)values->max, unit);
    double executions = row->probe.count > 0 ? row->probe.count : values->weight;
    add_value(columns, values->mean * executions, unit);
}

/* Adds a margin as a percentage of the figure above it; as it is where that figure is 0. */
static void add_margin(struct spex_columns *columns, const char *sign, double margin,
                       double value) {
    double percent = value > 0 ? 100 * margin / value : 0;
    if (value > 0)
        spex_columns_add(columns, percent < 99.5 ? "%s%.2g %%" : "%s%.0f %%", sign, percent);
    else if (margin > 0)
        spex_columns_add(columns, "%s%.0f", sign, margin);
    else
        spex_columns_add(columns, "%s0", sign);
}

static void add_quantile_margin(struct spex_columns *columns, const struct spex_profile_row *row,
                                unsigned series, double q) {
    const struct spex_values *values = row->values[series];
    double low, high, value = spex_values_quantile(values, q);
    bool known = spex_quantile_bounds(&row->probe, values, q, &low, &high);
    /* There is no percentage of 0. */
    if (known && (value > 0 || high <= 0))
        add_margin(columns, "±", high - value > value - low ? high - value : value - low, value);
    else
        spex_columns_add(columns, "?");
}

/* Margins of a value's row. That of the total combines those of the mean and of the count. */
static void add_value_margins(struct spex_columns *columns, const struct spex_profile_row *row,
                              unsigned series) {
    const struct spex_profile_probe *probe = &row->probe;
    const struct spex_values *values = row->values[series];
    double mean = spex_mean_margin(probe, values);
    bool known = mean >= 0 && probe->count > 0;
    spex_columns_add(columns, "(95 %%)");
    if (known)
        add_margin(columns, "±", mean, values->mean);
    else
        spex_columns_add(columns, "?");
    for (unsigned q = 0; q < QUANTILES; q++)
        add_quantile_margin(columns, row, series, quantiles[q]);
    spex_columns_add(columns, "%s", "");
    double count = spex_count_margin(probe);
    if (known)
        add_margin(columns, "±", hypot(mean * probe->count, values->mean * count),
                   values->mean * probe->count);
    else
        spex_columns_add(columns, "?");
}

/* Adds a row with the margins of the figures above it, where they come from a sample. */
static void add_margins(struct spex_columns *columns, const struct spex_profile_row *row,
                        unsigned series) {
    const struct spex_profile_probe *probe = &row->probe;
    double count = spex_count_margin(probe);
    if (!spex_sampled(probe) || (series >= probe->series && count <= 0))
        return;
    add_cells(columns, "", 3);
    for (int c = 0; c < 2; c++) { /* the count, and per second */
        if (series == 0 && count > 0)
            add_margin(columns, "±", count, probe->count);
        else
            add_cells(columns, "", 1);
    }
    if (series < probe->series)
        add_value_margins(columns, row, series);
    spex_columns_end_row(columns);
}

static void add_losses(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    spex_columns_add(columns, "%s%.0f", probe->lost_shared ? "~" : "",
                     probe->lost > 0 ? probe->lost : 0);
}

/* Adds the count and the rate; "-" where the probe was always polled, which counts no
 * executions. */
static void add_count(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    bool counted = spex_profile_counted_seconds(probe) > 0;
    if (counted || probe->count > 0 || !probe->activity.looks)
        spex_columns_add(columns, "%.0f", probe->count);
    else
        spex_columns_add(columns, "-");
    if (counted)
        add_number(columns, spex_profile_rate(probe));
    else
        spex_columns_add(columns, "-");
}

static void add_head(struct spex_columns *columns, const struct spex_profile_probe *probe,
                     bool mixed) {
    char name[SPEX_PROBE_TEXT_BYTES];
    spex_columns_add(columns, "%s", spex_probe_text(probe, mixed, name, sizeof(name)));
    spex_columns_add(columns, "%s", spex_probe_type_name(probe->probe_type));
    if (spex_profile_polled(probe))
        spex_columns_add(columns, "polled");
    else if (probe->records)
        add_number(columns, spex_profile_one_in(probe));
    else
        spex_columns_add(columns, "%u", probe->period_last);
    add_count(columns, probe);
}

/* Adds the cells of a polled probe's figure: a mean with its margin, and the corresponding time. */
static void add_looked(struct spex_columns *columns, const char *name, double mean, double margin,
                       const char *unit, double seconds) {
    char text[TEXT] = "?";
    if (margin >= 0)
        snprintf(text, sizeof(text), "%.2g", margin);
    spex_columns_add(columns, "%s", name);
    spex_columns_add(columns, "%.3g ±%s%s", mean, text, unit);
    add_cells(columns, "", QUANTILES + 1);
    if (seconds > 0)
        spex_columns_add(columns, "%s", spex_duration_text(seconds, text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
}

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

static void add_row(struct spex_columns *columns, const struct spex_profile *profile,
                    const struct spex_profile_row *row, bool mixed) {
    const struct spex_profile_probe *probe = &row->probe;
    add_head(columns, probe, mixed);
    if (probe->series)
        add_values(columns, row, 0, unit_of(profile, probe));
    else if (probe->activity.looks)
        add_active(columns, probe);
    else
        add_cells(columns, "-", VALUE);
    add_losses(columns, probe);
    add_margins(columns, row, 0);
    for (unsigned s = 1; s < probe->series; s++) {
        add_cells(columns, "", HEAD);
        add_values(columns, row, s, unit_of(profile, probe));
        spex_columns_end_row(columns);
        add_margins(columns, row, s);
    }
    add_activity(columns, probe);
}

static void print_accounts(FILE *file, const struct spex_profile_process *process) {
    fprintf(file, "%.3f s; records: %" PRIu64 " produced, %" PRIu64 " consumed, %" PRIu64 " lost",
            process->seconds, process->produced, process->consumed, process->lost);
    if (process->undelivered)
        fprintf(file, ", %" PRIu64 " consumed but not in this table", process->undelivered);
    if (process->unrecorded)
        fprintf(file, ", %" PRIu64 " not made for want of room for their threads",
                process->unrecorded);
    fputc('\n', file);
}

void spex_table_print(FILE *file, const struct spex_profile *profile) {
    static const char *const headings[] = {"probe", "type", "1 in",  "count", "per second",
                                           "value", "mean", "p50",   "p90",   "p99",
                                           "p99.9", "max",  "total", "lost"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 3);
    bool mixed = spex_profile_rows_mixed(profile);
    for (size_t r = 0; r < profile->row_count; r++)
        add_row(&columns, profile, &profile->rows[r], mixed);
    spex_columns_print(&columns, file);
    print_accounts(file, &profile->process);
    spex_table_notes(file, profile);
}
