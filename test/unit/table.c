/* SPDX-License-Identifier: MIT */
/* The table of profiles that are made up, as text. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "profile/columns.h"
#include "profile/figures.h"
#include "profile/table.h"
#include "queues/ring.h"
#include "stats/tracer.h"

enum { TICKS = 1000000000 };

static struct spex_profile_row rows[8];
static struct spex_profile_type types[4];
static struct spex_tracer *tracer;
static struct spex_profile profile;

static int setup(void **state) {
    (void)state;
    memset(rows, 0, sizeof(rows));
    memset(types, 0, sizeof(types));
    profile = (struct spex_profile){
        .process = {.commit = SPEX_COMMIT_RSEQ,
                    .ring_cpus = 2,
                    .ring_bytes = 3 << 20,
                    .ticks_per_second = TICKS,
                    .seconds = 2},
        .types = types,
        .rows = rows,
    };
    return spex_tracer_create(&tracer);
}

static int teardown(void **state) {
    (void)state;
    spex_tracer_destroy(tracer);
    return 0;
}

static void record(uint32_t type, uint16_t id, uint32_t weight, uint64_t a, uint64_t b,
                   uint32_t marks) {
    struct spex_record one = {.probe_type = type,
                              .probe_id = id,
                              .weight = weight,
                              .marks = (uint8_t)marks,
                              .field_count = type == SPEX_LLC || type == SPEX_SNAPSHOT ? 2 : 1,
                              .fields = {a, b}};
    if (type == SPEX_CNT || type == SPEX_TPT) { /* the weight comes first */
        one.field_count = type == SPEX_TPT ? 2 : 1;
        one.fields[0] = weight;
        one.fields[1] = a;
    }
    assert_int_equal(spex_tracer_add(tracer, &one, 1), 0);
}

/* Its records, where there are any, are in the tracer; on for two seconds. */
static struct spex_profile_probe *row(uint32_t type, uint16_t id, const char *name) {
    assert_true(profile.row_count < sizeof(rows) / sizeof(rows[0]));
    struct spex_profile_row *made = &rows[profile.row_count++];
    struct spex_metrics metrics = {0};
    size_t at = spex_tracer_find(tracer, id, type);
    if (at < spex_tracer_probes(tracer))
        spex_tracer_metrics(tracer, at, &metrics);
    made->probe = (struct spex_profile_probe){.probe_type = type,
                                              .probe_id = id,
                                              .series = (uint16_t)metrics.series,
                                              .on_seconds = 2,
                                              .count = metrics.count,
                                              .weight = metrics.weight,
                                              .weight_squares = metrics.weight_squares,
                                              .records = metrics.records,
                                              .period_last = 1};
    memcpy(made->probe.marked, metrics.marked, sizeof(metrics.marked));
    snprintf(made->probe.name, sizeof(made->probe.name), "%s", name);
    for (unsigned s = 0; s < metrics.series; s++)
        made->values[s] = spex_tracer_values(tracer, at, s);
    return &made->probe;
}

static void type(uint32_t probe_type, uint32_t pcid, bool used, bool measured) {
    types[profile.type_count++] = (struct spex_profile_type){.probe_type = probe_type,
                                                             .pcid = pcid,
                                                             .used = used,
                                                             .measured = measured,
                                                             .skip = 2,
                                                             .record = 20};
}

static void expect(const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_print(file, &profile);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void nothing(void **state) {
    (void)state;
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost  off\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

/* Of a time that is not the program's CPU time. */
static void what_was_used_of_a_budget(void **state) {
    (void)state;
    profile.process.budget = 0.01;
    profile.process.budget_spent = 0.02;
    profile.process.budget_seconds = 4;
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost  off\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
           "budget: 1 % of the program's time; as believed, 0.5 % was used (20 ms with spex's own "
           "threads, of 4 s)\n");
}

/* In slices of the time: 100,000 executions were counted in 0.1 s. */
static void what_was_held_off(void **state) {
    (void)state;
    struct spex_profile_probe *probe = row(SPEX_CNT, 1, "hot");
    probe->on_seconds = 0.1;
    probe->count = 1e5;
    probe->held_seconds = 1.9;
    probe->held_count = 1.9e6;
    probe->uncounted = 2e5;
    expect("probe  type  1 in    count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost   off\n"
           "hot    cnt      1  2000000         1 M      -     -    -    -    -      -    -      -  "
           "   0  95 %\n"
           "                     ±10 %       ±10 %\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void probes_without_records(void **state) {
    (void)state;
    row(SPEX_CNT, 1, "never");
    struct spex_profile_probe *probe = row(SPEX_LAT, 2, "seldom");
    probe->period_last = 1000;
    probe->count = 2997;
    expect("probe   type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost\n"
           "never   cnt      1      0           0      -     -    -    -    -      -    -      -   "
           "  0\n"
           "seldom  lat   1000   2997        1498      -     -    -    -    -      -    -      -   "
           "  0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void times(void **state) {
    (void)state;
    for (uint64_t ticks = 10; ticks <= 40; ticks += 10)
        record(SPEX_LAT, 7, 1, ticks, 0, 0);
    record(SPEX_TPT, 8, 1, 2500000000, 0, 0);
    record(SPEX_TPT, 8, 1, 2500000000000, 0, 0);
    row(SPEX_LAT, 7, "");
    row(SPEX_TPT, 8, "slow");
    expect("probe  type  1 in  count  per second  value    mean    p50     p90     p99   p99.9     "
           "max   total  lost\n"
           "7      lat      1      4           2   time   25 ns  20 ns   40 ns   40 ns   40 ns   "
           "40 ns  100 ns     0\n"
           "slow   tpt      1      2           1   time  1251 s  2.5 s  2491 s  2491 s  2491 s  "
           "2500 s  2502 s     0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

/* Ten ticks of each value are the clock's, which alone are nothing. */
static void times_without_those_of_the_clock(void **state) {
    (void)state;
    record(SPEX_LAT, 1, 1, 10, 0, 0);
    record(SPEX_LAT, 1, 1, 8, 0, 0);
    for (int i = 0; i < 10; i++)
        record(SPEX_LAT, 2, 1, 1010, 0, 0);
    for (int i = 0; i < 9; i++)
        record(SPEX_LAT, 3, 1, 20 + (uint64_t)i % 2 * 20, 0, 0);
    row(SPEX_LAT, 1, "nothing");
    row(SPEX_LAT, 2, "long");
    row(SPEX_LAT, 3, "short");
    type(SPEX_LAT, 0, true, true);
    types[0].empty = 10;
    types[0].empty_error = 3;
    expect(
        "probe    type  1 in  count  per second   value      mean    p50    p90    p99  p99.9    "
        "max   total  lost\n"
        "nothing  lat      1      2           1    time      0 ns   0 ns   0 ns   0 ns   0 ns   "
        "0 ns    0 ns     0\n"
        "                                        (95 %)         ?      ?      ?      ?      ?     "
        "         ?\n"
        "long     lat      1     10           5    time      1 µs   1 µs   1 µs   1 µs   1 µs   "
        "1 µs   10 µs     0\n"
        "short    lat      1      9         4.5    time  18.89 ns  10 ns  30 ns  30 ns  30 ns  "
        "30 ns  170 ns     0\n"
        "                                        (95 %)     ±21 %  ±60 %  ±20 %  ±20 %  ±20 %     "
        "     ±21 %\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
        "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved; a record costs lat 20 ns, a "
        "skipped execution 2 ns\n"
        "times are without what the clock itself takes: lat 10 ns ±3\n");
}

static bool near(double a, double b) {
    return fabs(a - b) < 1e-6;
}

/* Of executions with twice the time, half of it or the same part of each was of probes within. */
static void times_without_those_of_probes_within(void **state) {
    struct spex_figures figures;
    (void)state;
    for (int i = 0; i < 20; i++)
        record(SPEX_LAT, 1, 1, 1000 + (uint64_t)i % 2 * 1000, 0, 0);
    row(SPEX_LAT, 1, "outer");
    type(SPEX_LAT, 0, true, true);
    for (int i = 0; i < 3; i++)
        spex_line_add(&rows[0].probe.nested, 1000 + i % 2 * 1000, 500 + i % 2 * 500);
    spex_figures_of(&profile, &rows[0], 0, &figures);
    assert_true(near(figures.mean, 1500) && figures.nested == 0); /* too few */
    spex_line_add(&rows[0].probe.nested, 2000, 1000);
    spex_figures_of(&profile, &rows[0], 0, &figures);
    assert_true(near(figures.mean, 750) && near(figures.nested, 750));
    assert_true(near(figures.max, 1000) && near(figures.total, 20 * 750));
    /* The truth may be that they took nothing. */
    assert_true(figures.mean_margin >= 750 && figures.quantiles[SPEX_FIGURES_P99].high >= 2000);
    rows[0].probe.nested = (struct spex_line_sums){0};
    for (int i = 0; i < 100; i++)
        spex_line_add(&rows[0].probe.nested, 1000 + i % 2 * 1000, 300);
    spex_figures_of(&profile, &rows[0], 0, &figures);
    assert_true(near(figures.mean, 1200) && near(figures.max, 1700) && near(figures.min, 700));
}

/* Executions were looked at, and no record has been taken yet, as when a program is killed. */
static void probes_within_a_probe_without_records(void **state) {
    char *text = NULL;
    size_t size;
    (void)state;
    row(SPEX_LAT, 1, "outer");
    type(SPEX_LAT, 0, true, true);
    for (int i = 0; i < 9; i++)
        spex_line_add(&rows[0].probe.nested, 1000, 500);
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_print(file, &profile);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "outer"));
    assert_null(strstr(text, "probes within"));
    free(text);
}

/* Two threads had four seconds, of which a sample makes more. */
static void totals_within_the_time_there_was(void **state) {
    struct spex_figures figures;
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        record(SPEX_LAT, 1, 100, TICKS / 1000 + i % 2, 0, 0);
    row(SPEX_LAT, 1, "");
    spex_figures_of(&profile, &rows[0], 0, &figures);
    assert_true(figures.total > 9.9 * TICKS);
    profile.process.threads = 2;
    spex_figures_of(&profile, &rows[0], 0, &figures);
    assert_true(figures.total == 4.0 * TICKS);
}

static struct spex_profile_probe *probed(uint16_t id, const char *name, unsigned looks) {
    struct spex_profile_probe *probe = row(SPEX_LAT, id, name);
    probe->kind = SPEX_SAMPLING_POLLING;
    probe->polled_seconds = 2;
    for (unsigned i = 0; i < looks; i++) /* independent of each other, half of them active */
        spex_occupancy_add(&probe->activity, i / 2 % 2, i ? (int64_t)((i - 1) / 2 % 2) : -1);
    return probe;
}

static void shares_of_time(void **state) {
    (void)state;
    record(SPEX_LAT, 3, 1, 20, 0, 0);
    probed(1, "half", 1000);
    probed(2, "few", 4);
    struct spex_profile_probe *both = probed(3, "both", 1000);
    both->count = 1;
    both->polled_seconds = 1.5;
    struct spex_profile_probe *many = probed(4, "many", 1000);
    many->activity.threads *= 2;
    many->activity.thread_squares *= 4;
    many->activity.thread_pairs *= 4;
    struct spex_profile_probe *rare = probed(5, "rare", 0);
    for (int i = 0; i < 50; i++)
        spex_occupancy_add(&rare->activity, i == 25, i ? (int64_t)(i == 26) : -1);
    expect("probe  type    1 in  count  per second    value       mean    p50    p90    p99  p99.9 "
           "   max   total  lost\n"
           "half   lat   polled      -           -   active  50 ±3.1 %                             "
           "           1 s     0\n"
           "few    lat   polled      -           -   active    50 ±? %                             "
           "           1 s     0\n"
           "both   lat   polled      1           2     time      20 ns  20 ns  20 ns  20 ns  20 ns "
           " 20 ns   20 ns     0\n"
           "                                         active  50 ±3.1 %                             "
           "        750 ms\n"
           "many   lat   polled      -           -   active  50 ±3.1 %                             "
           "           1 s     0\n"
           "                                        threads   1 ±0.062                             "
           "           2 s\n"
           "rare   lat   polled      -           -   active     2 ±? %                             "
           "         40 ms     0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void times_in_the_first_milliseconds(void **state) {
    (void)state;
    profile.process.ticks_per_second = 0;
    profile.process.program_seconds = 0.001;
    record(SPEX_LAT, 7, 1, 10, 0, 0);
    type(SPEX_LAT, 0, true, true);
    row(SPEX_LAT, 7, "")->on_seconds = 0;
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost\n"
           "7      lat      1      1           -   time     -    -    -    -      -    -      -    "
           " 0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
           "overhead: of probes not known; the program's CPU time 1 ms; spex's own threads 0 ns\n");
}

static void samples(void **state) {
    (void)state;
    for (uint64_t v = 1; v <= 100; v++)
        record(SPEX_SNAPSHOT, 9, 1000, v, 0, 0);
    record(SPEX_SNAPSHOT, 10, 20000, 1234567, 7, 0);
    row(SPEX_SNAPSHOT, 9, "many")->count_variance = 250000;
    row(SPEX_SNAPSHOT, 10, "one");
    expect("probe  type      1 in    count  per second   value       mean        p50        p90   "
           "     p99      p99.9        max   total  lost\n"
           "many   snapshot  1000   100000        50 k      v0       50.5         50         90   "
           "      99        100        100  5.05 M     0\n"
           "                       ±0.98 %     ±0.98 %  (95 %)      ±11 %      ±20 %     ±6.7 %   "
           "       ?          ?              ±11 %\n"
           "                                                v1          0          0          0   "
           "       0          0          0       0\n"
           "                                            (95 %)         ±0         ±0         ±0   "
           "       ?          ?                 ±0\n"
           "one    snapshot  20 k    20000        10 k      v0  1.23457 M  1.23457 M  1.23457 M  1"
           ".23457 M  1.23457 M  1.23457 M       ?     0\n"
           "                                            (95 %)          ?          ?          ?   "
           "       ?          ?                  ?\n"
           "                                                v1          7          7          7   "
           "       7          7          7       ?\n"
           "                                            (95 %)          ?          ?          ?   "
           "       ?          ?                  ?\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void counters_that_are_not_available(void **state) {
    (void)state;
    record(SPEX_LLC, 1, 1, 100, 10, 0);
    record(SPEX_LLC, 1, 1, 0, 0, SPEX_MARK_UNAVAILABLE);
    record(SPEX_LLC, 1, 1, 300, 30, SPEX_MARK_SCALED);
    record(SPEX_LAT, 3, 1, 20, 0, 0);
    record(SPEX_LAT, 3, 1, 5000, 0, SPEX_MARK_OPENING);
    record(SPEX_FLT, 2, 1, 0, 0, SPEX_MARK_UNAVAILABLE);
    row(SPEX_LLC, 1, "some");
    row(SPEX_FLT, 2, "");
    row(SPEX_LAT, 3, "");
    type(SPEX_LLC, 0, true, false);
    snprintf(types[0].text, sizeof(types[0].text), "what the processor says");
    expect(
        "probe  type  1 in  count  per second       value   mean    p50    p90    p99  p99.9    "
        "max  "
        "total  lost\n"
        "some   llc      1      3         1.5  references    200    100    300    300    300    "
        "300  "
        "  600     0\n"
        "                                          misses     20     10     30     30     30     "
        "30  "
        "   60\n"
        "2      flt      1      1         0.5           -      -      -      -      -      -      "
        "-  "
        "    -     0\n"
        "3      lat      1      2           1        time  20 ns  20 ns  20 ns  20 ns  20 ns  20 "
        "ns  "
        "40 ns     0\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
        "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
        "llc: what the processor says\n"
        "some llc: 1 of 3 records have values estimated from a part of the time, as counters were "
        "shared\n"
        "some llc: 1 of 3 records have no values, as their counter was not available\n"
        "2 flt: 1 of 1 records have no values, as their counter was not available\n"
        "3 lat: 1 of 2 records include the making ready of their thread or counter, and are left "
        "out "
        "of times\n");
}

static void losses(void **state) {
    (void)state;
    profile.process.produced = 110;
    profile.process.consumed = 8;
    profile.process.lost = 102;
    for (int i = 0; i < 4; i++) {
        record(SPEX_CNT, 1, 1, 1, 0, 0);
        record(SPEX_CNT, 2, 1, 1, 0, 0);
    }
    struct spex_profile_probe *probe = row(SPEX_CNT, 1, "");
    probe->lost = 50.5;
    probe->lost_shared = true;
    probe = row(SPEX_CNT, 2, "");
    probe->lost = 50.5;
    probe->lost_shared = true;
    row(SPEX_CNT, 3, "")->lost_shared = true;
    row(SPEX_FLT, 1, "")->lost = 1;
    expect(
        "probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
        "lost\n"
        "1      cnt      1      4           2      -     -    -    -    -      -    -      -   "
        "~50\n"
        "2      cnt      1      4           2      -     -    -    -    -      -    -      -   "
        "~50\n"
        "3      cnt      1      0           0      -     -    -    -    -      -    -      -    "
        "~0\n"
        "1      flt      1      0           0      -     -    -    -    -      -    -      -    "
        " 1\n"
        "2.000 s; records: 110 produced, 8 consumed, 102 lost\n"
        "lost: records; their executions are counted all the same, and what they took is not; ~ is "
        "a probe's share of its type's, by records\n"
        "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void what_it_costs(void **state) {
    (void)state;
    profile.process.program_seconds = 0.001;
    profile.process.collector_seconds = 0.25;
    record(SPEX_CNT, 1, 1000, 1, 0, 0);
    record(SPEX_PERFCNTR, 2, 1, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    row(SPEX_PERFCNTR, 2, "");
    type(SPEX_CNT, 0, true, true);
    type(SPEX_LAT, 0, false, true);
    type(SPEX_PERFCNTR, 0, false, true);
    type(SPEX_PERFCNTR, 3, true, true);
    expect("probe  type      1 in  count  per second   value  mean  p50  p90  p99  p99.9  max  "
           "total  lost\n"
           "1      cnt       1000   1000         500       -     -    -    -    -      -    -      "
           "-     0\n"
           "2      perfcntr     1      1         0.5  events     1    1    1    1      1    1      "
           "1     0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved; a record costs cnt 20 ns, "
           "perfcntr 20 ns, a skipped execution 2 ns\n"
           "overhead, as believed: probes 2.038 µs, 0.2 % of the program's CPU time of 1 ms; "
           "spex's own threads 250 ms\n");
}

/* Believed to cost two milliseconds, as each of a million executions costs 2 ns in calibration. */
static void what_it_costs_is_a_part_of_the_time(void **state) {
    char *text = NULL;
    size_t size;
    (void)state;
    profile.process.program_seconds = 0.001;
    record(SPEX_CNT, 1, 1000000, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    type(SPEX_CNT, 0, true, true);
    assert_true(spex_profile_cost(&profile) == 0.001);
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_print(file, &profile);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "probes at most 1 ms, 100 % of the program's CPU time of 1 ms"));
    free(text);
}

/* As in an interval in which a probe made no records: there are no figures, which are not 0. */
static void of_nothing_recorded_nothing_is_told(void **state) {
    static struct spex_values none;
    (void)state;
    spex_values_clear(&none);
    struct spex_profile_probe *probe = row(SPEX_LAT, 1, "");
    probe->series = 1;
    rows[0].values[0] = &none;
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost\n"
           "1      lat      1      0           0      -     -    -    -    -      -    -      -    "
           " 0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

static void costs_that_are_not_known(void **state) {
    (void)state;
    profile.process.program_seconds = 0.001;
    record(SPEX_CNT, 1, 1, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    type(SPEX_CNT, 0, true, false);
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost\n"
           "1      cnt      1      1         0.5      -     -    -    -    -      -    -      -    "
           " 0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
           "overhead: of probes not known; the program's CPU time 1 ms; spex's own threads 0 ns\n");
}

static void names_cannot_speak_to_the_terminal(void **state) {
    (void)state;
    row(SPEX_CNT, 1, "\033[2Jé");
    expect("probe  type  1 in  count  per second  value  mean  p50  p90  p99  p99.9  max  total  "
           "lost\n"
           "?[2Jé  cnt      1      0           0      -     -    -    -    -      -    -      -    "
           " 0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_used_of_a_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_held_off, setup, teardown),
        cmocka_unit_test_setup_teardown(probes_without_records, setup, teardown),
        cmocka_unit_test_setup_teardown(times, setup, teardown),
        cmocka_unit_test_setup_teardown(times_without_those_of_the_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(times_without_those_of_probes_within, setup, teardown),
        cmocka_unit_test_setup_teardown(probes_within_a_probe_without_records, setup, teardown),
        cmocka_unit_test_setup_teardown(totals_within_the_time_there_was, setup, teardown),
        cmocka_unit_test_setup_teardown(shares_of_time, setup, teardown),
        cmocka_unit_test_setup_teardown(times_in_the_first_milliseconds, setup, teardown),
        cmocka_unit_test_setup_teardown(samples, setup, teardown),
        cmocka_unit_test_setup_teardown(counters_that_are_not_available, setup, teardown),
        cmocka_unit_test_setup_teardown(losses, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_costs, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_costs_is_a_part_of_the_time, setup, teardown),
        cmocka_unit_test_setup_teardown(of_nothing_recorded_nothing_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(costs_that_are_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(names_cannot_speak_to_the_terminal, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
