/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"
#include "probe_type.h"
#include "rings.h"
#include "sites.h"
#include "table_notes.h"
#include "threads.h"
#include "tracer.h"

struct table {
    struct spex_sink sink;
    pthread_mutex_t lock;
    struct spex_tracer *tracer;
    struct spex_instant start;
    struct spex_ring_counts before; /* the process's accounts when the table began */
    uint64_t undelivered_before;
    char *path;     /* NULL: a standard stream */
    bool to_stdout; /* which of them */
};

static struct table *table_of(struct spex_sink *sink) {
    return (struct table *)sink; /* sink is the first member */
}

static bool table_records(struct spex_sink *sink, const struct spex_record *records, size_t count) {
    struct table *table = table_of(sink);
    pthread_mutex_lock(&table->lock);
    int err = spex_tracer_add(table->tracer, records, count);
    pthread_mutex_unlock(&table->lock);
    return err == 0;
}

static const char *probe_name(uint16_t id, char *number, size_t size) {
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_site_info(i)->probe_id == id && spex_site_info(i)->name)
            return spex_site_info(i)->name;
    snprintf(number, size, "%u", id);
    return number;
}

/* Four significant digits and a unit. */
static const char *duration(double seconds, char *text, size_t size) {
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

/* One row's values, converted by `scale` (seconds per tick; 0 for values that are no times). */
static void print_values(FILE *file, const struct spex_tracer *tracer, size_t probe,
                         unsigned series, double scale) {
    struct spex_series values;
    spex_tracer_series(tracer, probe, series, &values);
    const double columns[] = {
        values.mean,
        values.min,
        spex_tracer_quantile(tracer, probe, series, 0.5),
        spex_tracer_quantile(tracer, probe, series, 0.9),
        spex_tracer_quantile(tracer, probe, series, 0.99),
        values.max,
    };
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        char text[32];
        if (scale > 0)
            duration(columns[c] * scale, text, sizeof(text));
        else
            snprintf(text, sizeof(text), "%.6g", columns[c]);
        fprintf(file, " %10s", text);
    }
}

static void print_probe(FILE *file, const struct spex_tracer *tracer, size_t probe, double seconds,
                        double seconds_per_tick) {
    struct spex_metrics metrics;
    char number[8];
    spex_tracer_metrics(tracer, probe, &metrics);
    fprintf(file, "%-20s %-8s %12.0f %12.6g", probe_name(metrics.probe_id, number, sizeof(number)),
            spex_probe_type_name(metrics.probe_type), metrics.count, metrics.count / seconds);
    bool times = spex_probe_type_ticks(metrics.probe_type);
    for (unsigned s = 0; s < metrics.series; s++) {
        if (s > 0)
            fprintf(file, "\n%20s %-8s %12s %12s", "", "", "", "");
        print_values(file, tracer, probe, s, times ? seconds_per_tick : 0);
    }
    fputc('\n', file);
}

static void print_table(struct table *table, FILE *file) {
    struct spex_instant end = spex_instant_now();
    double rate = spex_tick_rate_since(table->start);
    double seconds = (double)(end.ticks - table->start.ticks) / rate;
    struct spex_ring_counts counts = spex_rings_totals();
    const struct spex_ring_counts *before = &table->before; /* what was pending then is in here */
    uint64_t undelivered = spex_sinks_undelivered() - table->undelivered_before;
    fprintf(file, "%-20s %-8s %12s %12s %10s %10s %10s %10s %10s %10s\n", "probe", "type", "count",
            "per second", "mean", "min", "p50", "p90", "p99", "max");
    for (size_t p = 0; p < spex_tracer_probes(table->tracer); p++)
        print_probe(file, table->tracer, p, seconds, 1 / rate);
    fprintf(file, "%.3f s; records: %" PRIu64 " produced, %" PRIu64 " consumed, %" PRIu64 " lost",
            seconds, counts.produced - before->consumed - before->lost,
            counts.consumed - before->consumed, counts.lost + counts.pending - before->lost);
    if (undelivered)
        fprintf(file, ", %" PRIu64 " consumed but not in this table", undelivered);
    if (spex_threads_unrecorded())
        fprintf(file, ", %" PRIu64 " not made for want of room for their threads",
                spex_threads_unrecorded());
    fputc('\n', file);
    spex_table_notes(file, table->tracer, rate);
}

/* A file is open while it is written, and not before: the program may close descriptors that it
 * does not know, and use their numbers for files of its own. */
static FILE *output_begin(const struct table *table) {
    if (table->path)
        return fopen(table->path, "ae");
    return table->to_stdout ? stdout : stderr;
}

static bool output_end(const struct table *table, FILE *file) {
    bool good = fflush(file) == 0 && !ferror(file);
    if (table->path && fclose(file) != 0)
        good = false;
    return good;
}

static void table_finish(struct spex_sink *sink) {
    struct table *table = table_of(sink);
    FILE *file = output_begin(table);
    if (file)
        print_table(table, file);
    if (!file || !output_end(table, file))
        spex_message("SPEX_OUT: cannot write the table to %s: %s",
                     table->path ? table->path : "standard output", strerror(errno));
    spex_tracer_destroy(table->tracer);
    pthread_mutex_destroy(&table->lock);
    free(table->path);
    free(table);
}

/* All is left as it was: a collector that this process has not got may have been at work on it. */
static void table_abandon(struct spex_sink *sink) {
    (void)sink;
}

/* Makes the file, or empties it, so that one that cannot be written is noticed at once. A file that
 * this process has emptied before, or its parent, keeps what is in it: tables come one after another. */
static int output_prepare(struct table *table, const char *out) {
    static char *emptied;
    table->to_stdout = out && strcmp(out, "-") == 0;
    if (!out || table->to_stdout)
        return 0;
    FILE *file = fopen(out, "ae");
    if (!file) {
        int err = -errno;
        spex_message("SPEX_OUT: cannot open %s: %s", out, strerror(-err));
        return err;
    }
    table->path = realpath(out, NULL); /* the program may change its directory */
    if (table->path && (!emptied || strcmp(emptied, table->path) != 0)) {
        if (ftruncate(fileno(file), 0) != 0 && errno != EINVAL) /* which a device or pipe gives */
            spex_message("SPEX_OUT: cannot empty %s: %s", out, strerror(errno));
        free(emptied);
        emptied = strdup(table->path);
    }
    fclose(file);
    return table->path ? 0 : -errno;
}

int spex_table_open(const char *out, struct spex_sink **sink) {
    struct table *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    int err = spex_tracer_create(&table->tracer);
    err = err ? err : output_prepare(table, out);
    if (err) {
        spex_tracer_destroy(table->tracer);
        free(table);
        return err;
    }
    pthread_mutex_init(&table->lock, NULL);
    table->start = spex_instant_now();
    table->before = spex_rings_totals();
    table->undelivered_before = spex_sinks_undelivered();
    table->sink.records = table_records;
    table->sink.finish = table_finish;
    table->sink.abandon = table_abandon;
    *sink = &table->sink;
    return 0;
}
