/* SPDX-License-Identifier: MIT */
/* main() of a program of benchmarks. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/bench.h>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "harness/events.h"
#include "harness/processes.h"
#include "harness/report.h"
#include "harness/rounds.h"
#include "text/message.h"

enum { FAILED = 1, USAGE = 2 };

static void write_report(const struct spex_bench_report *report, enum spex_bench_format format,
                         FILE *out) {
    if (format == SPEX_BENCH_JSON)
        spex_bench_report_json(report, out);
    else if (format == SPEX_BENCH_CSV)
        spex_bench_report_csv(report, out);
    else
        spex_bench_report_console(report, out);
}

/* 0 or a negative errno value of writing. */
static int written(FILE *out) {
    return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}

/* Prints the report, and writes it into the file. */
static int report_all(struct spex_bench_report *report) {
    const struct spex_bench_settings *settings = report->settings;
    report->aggregates_only = settings->aggregates_only || settings->aggregates_only_displayed;
    write_report(report, settings->format, stdout);
    report->aggregates_only = settings->aggregates_only;
    int err = written(stdout);
    const char *name = "standard output";
    if (!err && settings->out) {
        name = settings->out;
        int fd = spex_line_file_open(name);
        FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
        err = fd < 0 ? fd : out ? 0 : -errno;
        if (!out && fd >= 0)
            close(fd);
        if (out) {
            write_report(report, settings->out_format, out);
            err = written(out);
            if (fclose(out) && !err)
                err = -errno;
        }
    }
    if (err)
        spex_message("%s: the figures cannot be written: %s", name, strerror(-err));
    return err;
}

static int list_names(const struct spex_bench_instances *instances) {
    for (size_t i = 0; i < instances->count; i++)
        puts(instances->items[i].name);
    return written(stdout) ? FAILED : 0;
}

/* Measures here, or in other processes. The clock is measured in any case, for the report. */
static int measure(struct spex_bench_instances *instances, struct spex_bench_manner *manner,
                   const struct spex_bench_settings *settings, char **argv) {
    struct spex_instant begun = spex_instant_now();
    manner->ticks_per_second = spex_tick_rate_since(begun);
    spex_bench_clock_measure(manner);
    if (settings->child < 0 && settings->processes > 1)
        return spex_bench_processes(instances, settings, argv);
    int err = spex_bench_rounds(instances, manner, settings);
    if (err)
        spex_message("the benchmarks cannot be measured: %s", strerror(-err));
    return err;
}

/* Whether all benchmarks were measured. */
static bool all_measured(const struct spex_bench_instances *instances) {
    for (size_t i = 0; i < instances->count; i++)
        if (*instances->items[i].figures.error)
            return false;
    return true;
}

static int run(struct spex_bench_instances *instances, const struct spex_bench_settings *settings,
               char **argv) {
    struct spex_bench_events events;
    struct spex_bench_machine machine;
    struct spex_bench_manner manner = {.seconds = settings->min_seconds,
                                       .warmup_seconds = settings->warmup_seconds,
                                       .singles = settings->singles,
                                       .events = &events};
    spex_bench_machine_find(&machine);
    if (spex_bench_events_take(&events, settings->counters) != 0 ||
        measure(instances, &manner, settings, argv) != 0)
        return FAILED;
    if (settings->child >= 0)
        return spex_bench_processes_tell(instances, settings->child) ? FAILED : 0;
    struct spex_bench_report report = {instances, &manner, settings, &machine, false};
    return report_all(&report) || !all_measured(instances) ? FAILED : 0;
}

int spex_bench_main(int argc, char **argv) {
    struct spex_bench_settings settings;
    struct spex_bench_instances instances;
    int status;
    /* Where it is ignored, nobody learns how a process of the benchmarks has ended. */
    signal(SIGCHLD, SIG_DFL);
    if (spex_bench_settings_take(&settings, argc, argv) != 0)
        return USAGE;
    spex_bench_instances_make(&instances);
    if (settings.filter && spex_bench_instances_filter(&instances, settings.filter) != 0) {
        spex_message("--benchmark_filter: \"%s\" is no regular expression", settings.filter);
        status = USAGE;
    } else if (!instances.count) {
        spex_message("there is no benchmark%s%s", settings.filter ? " that matches " : "",
                     settings.filter ? settings.filter : "");
        status = FAILED;
    } else if (settings.list) {
        status = list_names(&instances);
    } else {
        status = run(&instances, &settings, argv);
    }
    spex_bench_instances_free(&instances);
    return status;
}
