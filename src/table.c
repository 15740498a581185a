/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <inttypes.h>
#include <stdbool.h>

#include "columns.h"
#include "confidence.h"
#include "probe_type.h"

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]), TEXT = 32 };

const char *spex_duration_text(double seconds, char *text, size_t size) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {0, "ns"}};
    unsigned u = 0;
    while (units[u].unit > 0 && seconds < units[u].unit)
        u++;
    double unit = units[u].unit > 0 ? units[u].unit : 1e-9;
    snprintf(text, size, "%.4g %s", seconds / unit, units[u].name);
    return text;
}

const char *spex_value_name(uint32_t probe_type, unsigned n) {
    static const char *const numbered[] = {"v0", "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                           "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"};
    switch (probe_type) {
    case SPEX_LAT:
    case SPEX_TPT:
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

/* A value in its unit; `scale`: seconds per tick, 0 for values that are no times. */
static void add_value(struct spex_columns *columns, double value, double scale) {
    char text[TEXT];
    if (scale > 0)
        spex_columns_add(columns, "%s", spex_duration_text(value * scale, text, sizeof(text)));
    else
        spex_columns_add(columns, "%.6g", value);
}

static void add_values(struct spex_columns *columns, const struct spex_profile_row *row,
                       unsigned series, double scale) {
    const struct spex_values *values = row->values[series];
    spex_columns_add(columns, "%s", spex_value_name(row->probe.probe_type, series));
    add_value(columns, values->mean, scale);
    for (unsigned q = 0; q < QUANTILES; q++)
        add_value(columns, spex_values_quantile(values, quantiles[q]), scale);
    add_value(columns, (double)values->max, scale);
    add_value(columns, values->mean * row->probe.count, scale);
}

static void add_margin(struct spex_columns *columns, const char *sign, double margin,
                       double value) {
    if (value > 0)
        spex_columns_add(columns, "%s%.2g %%", sign, 100 * margin / value);
    else
        spex_columns_add(columns, "%s%.2g", sign, margin);
}

static void add_quantile_margin(struct spex_columns *columns, const struct spex_profile_row *row,
                                unsigned series, double q) {
    const struct spex_values *values = row->values[series];
    double low, high, value = spex_values_quantile(values, q);
    if (spex_quantile_bounds(&row->probe, values, q, &low, &high))
        add_margin(columns, "±", high - value > value - low ? high - value : value - low, value);
    else
        spex_columns_add(columns, "?");
}

/* Below figures that come of a sample: how far from the truth they may be. */
static void add_margins(struct spex_columns *columns, const struct spex_profile *profile,
                        const struct spex_profile_row *row, unsigned series) {
    double margin = spex_count_margin(profile, &row->probe);
    for (int c = 0; c < 3; c++)
        spex_columns_add(columns, "%s", "");
    for (int c = 0; c < 2; c++)
        add_margin(columns, "+", series == 0 ? margin : 0, row->probe.count);
    if (row->probe.series == 0) {
        spex_columns_end_row(columns);
        return;
    }
    const struct spex_values *values = row->values[series];
    double mean = spex_mean_margin(&row->probe, values);
    spex_columns_add(columns, "(95 %%)");
    if (mean >= 0)
        add_margin(columns, "±", mean, values->mean);
    else
        spex_columns_add(columns, "?");
    for (unsigned q = 0; q < QUANTILES; q++)
        add_quantile_margin(columns, row, series, quantiles[q]);
    spex_columns_end_row(columns);
}

static void add_name(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    if (probe->name[0])
        spex_columns_add(columns, "%s", probe->name);
    else
        spex_columns_add(columns, "%u", probe->probe_id);
}

static void add_losses(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    spex_columns_add(columns, "%s%.0f", probe->lost > 0 && probe->lost_shared ? "~" : "",
                     probe->lost);
}

static void add_head(struct spex_columns *columns, const struct spex_profile_probe *probe) {
    add_name(columns, probe);
    spex_columns_add(columns, "%s", spex_probe_type_name(probe->probe_type));
    if (probe->records)
        spex_columns_add(columns, "%.4g", probe->count / (double)probe->records);
    else if (probe->period)
        spex_columns_add(columns, "%u", probe->period);
    else
        spex_columns_add(columns, "-"); /* it is off by now, and which period it had is not known */
    spex_columns_add(columns, "%.0f", probe->count);
    if (probe->on_seconds > 0)
        spex_columns_add(columns, "%.6g", probe->count / probe->on_seconds);
    else
        spex_columns_add(columns, "-");
}

static void add_row(struct spex_columns *columns, const struct spex_profile *profile,
                    const struct spex_profile_row *row) {
    const struct spex_profile_probe *probe = &row->probe;
    double rate = profile->process.ticks_per_second;
    double scale = spex_probe_type_ticks(probe->probe_type) && rate > 0 ? 1 / rate : 0;
    add_head(columns, probe);
    if (probe->series == 0)
        for (unsigned c = 0; c < QUANTILES + 4; c++)
            spex_columns_add(columns, "-");
    for (unsigned s = 0; s < probe->series; s++) {
        for (int c = 0; s > 0 && c < 5; c++)
            spex_columns_add(columns, "%s", "");
        add_values(columns, row, s, scale);
        if (s == 0)
            add_losses(columns, probe);
        spex_columns_end_row(columns);
        if (spex_sampled(probe))
            add_margins(columns, profile, row, s);
    }
    if (probe->series == 0) {
        add_losses(columns, probe);
        if (spex_sampled(probe))
            add_margins(columns, profile, row, 0);
    }
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
    static const char *const headings[] = {"probe", "type", "1 in", "count", "per second",
                                           "value", "mean", "p50",  "p90",   "p99",
                                           "p99.9", "max",  "total", "lost"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 2);
    for (size_t r = 0; r < profile->row_count; r++)
        add_row(&columns, profile, &profile->rows[r]);
    spex_columns_print(&columns, file);
    print_accounts(file, &profile->process);
    spex_table_notes(file, profile);
}
