/* SPDX-License-Identifier: MIT */
/* CSV as of Google Benchmark 1.7 (src/csv_reporter.cc). */
#include "harness/report.h"

#include <math.h>

#include "text/csv_cell.h"

/* Behind a comma. */
static void write_number(FILE *out, double number) {
    fputc(',', out);
    spex_csv_cell_number(out, number);
}

static void write_repetition(const struct spex_bench_report *report,
                             const struct spex_bench_instance *instance,
                             const struct spex_bench_repetition *repetition, FILE *out) {
    double seconds = repetition->time.real_ns / 1e9 / instance->threads;
    spex_csv_cell_text(out, instance->name);
    write_number(out, repetition->iterations);
    write_number(out, repetition->time.real_ns);
    write_number(out, repetition->time.cpu_ns);
    fputs(",ns", out);
    write_number(out, repetition->bytes > 0 ? repetition->bytes / seconds : NAN);
    write_number(out, repetition->items > 0 ? repetition->items / seconds : NAN);
    fputs(",,,", out);
    for (size_t e = 0; e < report->manner->events->count; e++)
        write_number(out, repetition->events[e]);
    fputc('\n', out);
}

/* The columns are Google Benchmark's, and then the events. */
void spex_bench_report_csv(const struct spex_bench_report *report, FILE *out) {
    fputs("name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,"
          "error_occurred,error_message",
          out);
    for (size_t e = 0; e < report->manner->events->count; e++) {
        fputc(',', out);
        spex_csv_cell_text(out, report->manner->events->items[e].name);
    }
    fputc('\n', out);
    for (size_t i = 0; i < report->instances->count; i++) {
        const struct spex_bench_instance *instance = &report->instances->items[i];
        for (size_t r = 0; r < instance->figures.count; r++)
            write_repetition(report, instance, &instance->figures.repetitions[r], out);
        if (*instance->figures.error) {
            spex_csv_cell_text(out, instance->name);
            fputs(",,,,,,,,true,", out);
            spex_csv_cell_text(out, instance->figures.error);
            fputc('\n', out);
        }
    }
}
