/* SPDX-License-Identifier: MIT */
/* A report of made figures: a family of benchmarks whose time is 100 ns + 5 ns · n, a benchmark
 * that tells all there is, and one that was not measured. */
#ifndef SPEX_TEST_MADE_REPORT_H
#define SPEX_TEST_MADE_REPORT_H

#include <math.h>

#include "../check.h"
#include "harness/report.h"

enum { SIZES = 5, REPEATED = 6, INSTANCES = SIZES + 2 };

/* Time grows with the size; each repetition of a size differs by a little. */
static double made_ns(double size, size_t repetition) {
    static const double deviations[REPEATED] = {-2, 1, 0, 2, -1, 0};
    return 100 + 5 * size + deviations[repetition];
}

struct made {
    struct spex_benchmark sort, other, skipped;
    char names[INSTANCES][64];
    struct spex_bench_instance items[INSTANCES];
    struct spex_bench_instances instances;
    struct spex_bench_events events;
    struct spex_bench_manner manner;
    struct spex_bench_settings settings;
    struct spex_bench_machine machine;
    struct spex_bench_report report;
};

static void add_sort(struct made *made, size_t index) {
    struct spex_bench_instance *instance = &made->items[index];
    int64_t size = 10 << index;
    *instance = (struct spex_bench_instance){
        .family = &made->sort, .index = index, .args = {size}, .threads = 1};
    instance->name = made->names[index];
    snprintf(made->names[index], sizeof(made->names[index]), "sort/n:%d", (int)size);
    for (size_t r = 0; r < REPEATED; r++) {
        double ns = made_ns((double)size, r);
        struct spex_bench_repetition repetition = {
            .time = {ns, ns - 10, 2 * ns},
            .mean = {ns + 50, ns - 9, 2 * ns + 100},
            .iterations = 1000 + (double)r,
        };
        assert_int_equal(spex_bench_figures_add(&instance->figures, &repetition), 0);
    }
    assert_int_equal(spex_bench_figures_estimate(&instance->figures), 0);
}

/* In 4 threads, with all that a benchmark can tell. */
static void add_other(struct made *made) {
    struct spex_bench_instance *instance = &made->items[SIZES];
    struct spex_histogram singles = {0};
    *instance = (struct spex_bench_instance){
        .family = &made->other, .family_index = 1, .threads = 4, .name = made->other.name};
    for (unsigned r = 0; r < 2; r++) {
        struct spex_bench_repetition repetition = {
            .time = {2000 + 1000 * r, 1500 + 500 * r, 4000 + 2000 * r},
            .mean = {2500 + 1000 * r, 1600 + 500 * r, 5000},
            .iterations = 64,
            .bytes = 1024,
            .items = 30,
            .events = {0.25 + r, r ? NAN : 3, 7},
            .own = {{"own", 10 + 2 * r, 4}, {"steps", 3, 2}},
            .own_count = 2,
            .process = r,
        };
        assert_int_equal(spex_bench_figures_add(&instance->figures, &repetition), 0);
    }
    assert_int_equal(spex_bench_figures_estimate(&instance->figures), 0);
    for (uint64_t ticks = 1; ticks <= 8; ticks++)
        spex_histogram_add(&singles, ticks, ticks < 8 ? 1000 : 3);
    assert_int_equal(spex_bench_figures_add_singles(&instance->figures, &singles), 0);
}

static void make(struct made *made) {
    static char sort[] = "sort", other[] = "other \"x\\y\"", skipped[] = "skipped, once", n[] = "n";
    memset(made, 0, sizeof(*made));
    made->sort = (struct spex_benchmark){
        .name = sort, .parameters = {{.name = n}}, .parameter_count = 1, .complexity = true};
    made->other.name = other;
    made->skipped = made->sort;
    made->skipped.name = skipped;
    for (size_t i = 0; i < SIZES; i++)
        add_sort(made, i);
    add_other(made);
    made->items[SIZES + 1] = (struct spex_bench_instance){
        .family = &made->skipped, .family_index = 2, .threads = 1, .name = skipped};
    snprintf(made->items[SIZES + 1].figures.error, SPEX_BENCH_TEXT_BYTES, "no \"file\"");
    made->instances = (struct spex_bench_instances){made->items, INSTANCES};
    made->events = (struct spex_bench_events){
        .items = {{.name = "faults"}, {.name = "llc_misses"}, {.name = "x,y"}}, .count = 3};
    made->manner = (struct spex_bench_manner){
        .ticks_per_second = 2e9, .clock_ticks = 41, .events = &made->events};
    made->settings = (struct spex_bench_settings){
        .precision = 0.02, .seed = 12345, .processes = 2, .singles = true};
    made->machine = (struct spex_bench_machine){
        .host = "host \"a\"",
        .executable = "/bin/b",
        .cpus = 4,
        .mhz = 2500.5,
        .virtual = true,
        .load = {3, 0.5, 0.25},
        .cache_count = 2,
        .caches = {{"Data", 1, 2, 32768}, {"Unified", 2, 8, 1048576}},
    };
    made->report = (struct spex_bench_report){&made->instances, &made->manner, &made->settings,
                                              &made->machine, false};
}

static void made_free(struct made *made) {
    for (size_t i = 0; i < INSTANCES; i++)
        spex_bench_figures_free(&made->items[i].figures);
}

typedef void write_report(const struct spex_bench_report *report, FILE *out);

/* To be freed. */
static char *written(const struct made *made, write_report *write) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    write(&made->report, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

#endif
