/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "harness/settings.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "text/message.h"
#include "text/number.h"

static const char usage[] =
    "options of a program of benchmarks:\n"
    "\n"
    "  --benchmark_list_tests        prints the names of the benchmarks\n"
    "  --benchmark_filter=REGEX      only those that match; -REGEX: only those that do not\n"
    "  --benchmark_min_time=SECONDS  of a repetition (0.05)\n"
    "  --benchmark_max_time=SECONDS  of all repetitions of a benchmark (2)\n"
    "  --benchmark_min_warmup_time=SECONDS  before the first repetition (0)\n"
    "  --benchmark_precision=PERCENT  stop when the 95 % interval is so narrow: ± 1%\n"
    "  --benchmark_repetitions=N     so many, whatever the interval\n"
    "  --benchmark_processes=N       each repetition in a process of its own, N of them\n"
    "  --benchmark_perf_counters=LIST  faults, switches, llc, names of libpfm4; with commas\n"
    "  --benchmark_percentiles=BOOL  of single iterations (true)\n"
    "  --benchmark_enable_random_interleaving=BOOL  repetitions in random order (true)\n"
    "  --benchmark_seed=N            of the random order\n"
    "  --benchmark_format=FORMAT     console, json or csv, to standard output\n"
    "  --benchmark_out=FILE          also into a file\n"
    "  --benchmark_out_format=FORMAT  of the file (json)\n"
    "  --benchmark_report_aggregates_only=BOOL  JSON without the single repetitions (false)\n"
    "  --benchmark_display_aggregates_only=BOOL  that on standard output alone (false)\n"
    "  --benchmark_color, --benchmark_counters_tabular  taken, and change nothing\n";

/* The kind of an option's argument. */
enum kind { TEXT, SECONDS, PERCENT, COUNT, SEED, YES_OR_NO, FORMAT, PRESENT, CHILD };

struct known {
    const char *name;
    enum kind kind;
    void *to;
    double least, most;
};

static bool read_count(const char *text, const struct known *known, int64_t *count) {
    return spex_number_integer(text, count) && (double)*count >= known->least &&
           (double)*count <= known->most;
}

/* Newer versions of Google Benchmark write "0.5s". */
static bool read_seconds(const char *text, const struct known *known) {
    char number[32];
    size_t length = strlen(text);
    double *to = known->to;
    if (length > 1 && text[length - 1] == (known->kind == PERCENT ? '%' : 's'))
        length--;
    if (length >= sizeof(number))
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    if (!spex_number_seconds(number, to) || *to < known->least || *to > known->most)
        return false;
    *to /= known->kind == PERCENT ? 100 : 1;
    return true;
}

static bool read_yes(const char *text, bool *yes) {
    *yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool read_format(const char *text, enum spex_bench_format *format) {
    static const char *const names[] = {"console", "json", "csv"};
    for (int f = SPEX_BENCH_CONSOLE; f <= SPEX_BENCH_CSV; f++)
        if (strcmp(text, names[f]) == 0) {
            *format = (enum spex_bench_format)f;
            return true;
        }
    return false;
}

static bool take(const struct known *known, const char *text) {
    int64_t count;
    switch (known->kind) {
    case TEXT:
        *(const char **)known->to = text;
        return *text;
    case SECONDS:
    case PERCENT:
        return read_seconds(text, known);
    case YES_OR_NO:
        return read_yes(text, known->to);
    case FORMAT:
        return read_format(text, known->to);
    case PRESENT:
        return read_yes(text ? text : "true", known->to);
    default:
        if (!read_count(text, known, &count))
            return false;
        if (known->kind == SEED)
            *(uint64_t *)known->to = (uint64_t)count;
        else
            *(unsigned *)known->to = (unsigned)count;
        return true;
    }
}

static void complain(const struct known *known, const char *text) {
    static const char *const expected[] = {[TEXT] = "a text",
                                           [YES_OR_NO] = "true or false",
                                           [FORMAT] = "console, json or csv",
                                           [PRESENT] = "true or false"};
    if (expected[known->kind] || known->kind == TEXT)
        spex_message("--%s: %s was expected, not \"%s\"", known->name, expected[known->kind], text);
    else
        spex_message("--%s: a number of %g to %g was expected, not \"%s\"", known->name,
                     known->least, known->most, text);
}

int spex_bench_settings_take(struct spex_bench_settings *settings, int argc, char **argv) {
    *settings = (struct spex_bench_settings){.out_format = SPEX_BENCH_JSON,
                                             .min_seconds = 0.05,
                                             .max_seconds = 2,
                                             .precision = 0.01,
                                             .processes = 1,
                                             .seed = spex_clock_ns(CLOCK_REALTIME) % 1000000,
                                             .interleave = true,
                                             .singles = true,
                                             .child = -1};
    const struct known known[] = {
        {"benchmark_list_tests", PRESENT, &settings->list, 0, 0},
        {"benchmark_filter", TEXT, &settings->filter, 0, 0},
        {"benchmark_min_time", SECONDS, &settings->min_seconds, 1e-4, 3600},
        {"benchmark_max_time", SECONDS, &settings->max_seconds, 0, 86400},
        {"benchmark_min_warmup_time", SECONDS, &settings->warmup_seconds, 0, 3600},
        {"benchmark_precision", PERCENT, &settings->precision, 0, 100},
        {"benchmark_repetitions", COUNT, &settings->repetitions, 1, 100000},
        {"benchmark_processes", COUNT, &settings->processes, 1, 10000},
        {"benchmark_perf_counters", TEXT, &settings->counters, 0, 0},
        {"benchmark_percentiles", YES_OR_NO, &settings->singles, 0, 0},
        {"benchmark_enable_random_interleaving", YES_OR_NO, &settings->interleave, 0, 0},
        {"benchmark_seed", SEED, &settings->seed, 0, 1e15},
        {"benchmark_format", FORMAT, &settings->format, 0, 0},
        {"benchmark_out", TEXT, &settings->out, 0, 0},
        {"benchmark_out_format", FORMAT, &settings->out_format, 0, 0},
        {"benchmark_report_aggregates_only", PRESENT, &settings->aggregates_only, 0, 0},
        {"benchmark_display_aggregates_only", PRESENT, &settings->aggregates_only_displayed, 0, 0},
        {"benchmark_color", TEXT, &settings->colour, 0, 0},
        {"benchmark_counters_tabular", PRESENT, &settings->tabular, 0, 0},
        {"benchmark_child", CHILD, &settings->child, 0, 1e6},
    };
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    struct option options[KNOWN + 2] = {{"help", no_argument, NULL, KNOWN}};
    for (int k = 0; k < KNOWN; k++)
        options[k + 1] = (struct option){
            known[k].name, known[k].kind == PRESENT ? optional_argument : required_argument, NULL,
            k};
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == KNOWN) {
            fputs(usage, stdout);
            exit(fflush(stdout) ? 1 : 0);
        }
        if (option == '?')
            return -EINVAL;
        if (!take(&known[option], optarg)) {
            complain(&known[option], optarg);
            return -EINVAL;
        }
    }
    if (optind < argc) {
        spex_message("no argument \"%s\" was expected; see --help", argv[optind]);
        return -EINVAL;
    }
    return 0;
}
