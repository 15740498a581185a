/* SPDX-License-Identifier: MIT */
/* The lines below the table: what a budget pays for, what has been taken off times, what it
 * costs. */
#include <math.h>

#include "../comma_locale.h"
#include "made_profile.h"
#include "profile/figures.h"
#include "profile/table_notes.h"

static int verbose(void **state) {
    int err = setup(state);
    look.verbose = true;
    return err;
}

static bool near(double a, double b) {
    return fabs(a - b) < 1e-6;
}

/* The lines alone. */
static void expect_notes(const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_notes(file, &profile, true);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

TEST_WITH(what_was_used_of_a_budget, verbose, teardown) {
    profile.process.budget = 0.01;
    profile.process.budget_spent = 0.02;
    profile.process.budget_seconds = 4;
    expect("no probe was on\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "budget: 1 % of the program's CPU time (1 % of a CPU at least); as believed, 0.5 % was "
           "used\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
           "budget: 20 ms used, including spex's own threads, of 4 s\n");
}

TEST_WITH(whether_costs_were_measured, verbose, teardown) {
    profile.process.budget = 0.01;
    row(SPEX_CNT, 1, "taken");
    row(SPEX_CNT, 2, "tried")->cost_factor = 1.5F;
    char *text = table_text();
    assert_non_null(strstr(text, "costs: of 1 of 2 probes measured while the program ran, else "));
    free(text);
}

/* A time, and what has become of the others. */
TEST_WITH(what_has_become_of_spans, verbose, teardown) {
    for (int i = 0; i < 10; i++)
        record(SPEX_SPAN, 1, 1, 100, 0, 0);
    row(SPEX_SPAN, 1, "request");
    rows[0].probe.count = 16;
    rows[0].probe.spans_open = 2;
    rows[0].probe.spans_abandoned = 3;
    rows[0].probe.spans_refused = 1;
    rows[0].probe.spans_unmatched = 4;
    assert_true(spex_profile_ended(&rows[0].probe) == 11);
    expect(
        "probe    type  count  per s    total    mean     p50     p90     p99      p99.9        "
        "max\n"
        "request  span     16      8  1.10 µs  100 ns  100 ns  100 ns  100 ns ±?  100 ns ±?  100 "
        "ns\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
        "?: too few records to tell\n"
        "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
        "request span: 2 open, whose END has not come, 3 abandoned, whose END never came, 4 "
        "ENDs without a BEGIN, or with one\n"
        "  from before the probe was on, 1 not recorded for want of room\n");
}

/* Where not each BEGIN is recorded, an END without a span tells nothing. */
TEST_WITH(ends_of_a_sample_are_not_told, verbose, teardown) {
    row(SPEX_SPAN, 1, "request");
    rows[0].probe.spans_unmatched = 4;
    rows[0].probe.spans_partial = 1;
    expect("probe    type  count  per s\n"
           "request  span      0      0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n");
}

/* Ten ticks of each value are the clock's, which alone are nothing. */
TEST_WITH(times_without_those_of_the_clock, verbose, teardown) {
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
    expect("probe    type  count  per s    total     mean            p50            p90            "
           "p99          p99.9            max\n"
           "long     lat      10      5  10.0 µs  1.00 µs        1.00 µs        1.00 µs        "
           "1.00 µs        1.00 µs        1.00 µs\n"
           "short    lat       9    4.5   170 ns  18.9 ns ±21 %  10.0 ns ±60 %  30.0 ns ±20 %  "
           "30.0 ns ±20 %  30.0 ns ±20 %  30.0 ns\n"
           "nothing  lat       2      1     0 ns     0 ns ±?        0 ns ±?        0 ns ±?        "
           "0 ns ±?        0 ns ±?        0 ns\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "?: the margin is larger than the figure\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved; a record costs lat 20 ns, a "
           "skipped execution 2 ns\n"
           "times are without what the clock itself takes: lat 10 ns ±3\n");
}

/* Of executions with twice the time, half of it or the same part of each was of probes within. */
TEST_WITH(times_without_those_of_probes_within, verbose, teardown) {
    struct spex_figures figures;
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
    profile.process.ticks_per_second = 2e9;
    profile.process.ring_bytes = 0;
    expect_notes(
        "outer lat: times are without what probes within take, on average 150 ns ±150 ns\n");
}

/* Of a few executions the longer one had more of probes within than it was longer: costs scatter. */
TEST_WITH(long_times_stay_long_without_probes_within, verbose, teardown) {
    struct spex_figures figures;
    for (int i = 0; i < 100; i++)
        record(SPEX_LAT, 1, 1, 1000 + 100 * (uint64_t)i, 0, 0);
    row(SPEX_LAT, 1, "outer");
    type(SPEX_LAT, 0, true, true);
    for (int i = 0; i < 4; i++)
        spex_line_add(&rows[0].probe.nested, 1000 + i % 2 * 100, 500 + i % 2 * 300);
    spex_figures_of(&profile, &rows[0], 0, &figures);
    /* 650 of 1050 ticks on average, and of longer ones as much more as they are longer. */
    assert_true(near(figures.mean, 400) && near(figures.max, 400));
    for (int q = SPEX_FIGURES_P50; q <= SPEX_FIGURES_P999; q++)
        assert_true(near(figures.quantiles[q].value, 400));
}

/* Executions were looked at, and no record has been taken yet, as when a program is killed. */
TEST_WITH(probes_within_a_probe_without_records, verbose, teardown) {
    row(SPEX_LAT, 1, "outer");
    type(SPEX_LAT, 0, true, true);
    for (int i = 0; i < 9; i++)
        spex_line_add(&rows[0].probe.nested, 1000, 500);
    char *text = table_text();
    assert_non_null(strstr(text, "outer"));
    assert_null(strstr(text, "probes within"));
    free(text);
}

TEST_WITH(what_it_costs, verbose, teardown) {
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
    expect("probe  type      1 in  count  per s   value  total  mean  p50  p90  p99  p99.9  max\n"
           "1      cnt       1000   1000    500       -      -     -    -    -    -      -    -\n"
           "2      perfcntr     1      1    0.5  events      1     1    1    1    1      1    1\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "overhead, as believed: probes 0.2 % of the CPU time, spex's own threads 25000 %\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved; a record costs cnt 20 ns, "
           "perfcntr 20 ns, a skipped execution\n"
           "  2 ns\n"
           "CPU time: program 1 ms, probes 2.038 µs, spex's own threads 250 ms\n");
}

/* Records, each of which takes 18 ns more than an execution, of a millisecond. */
TEST_WITH(what_halving_an_interval_costs, verbose, teardown) {
    char *text = NULL;
    size_t size;
    profile.process.program_seconds = 0.001;
    profile.process.budget = 0.01;
    for (int i = 0; i < 20; i++) {
        record(SPEX_LAT, 1, 100, 1000 + (uint64_t)i % 2 * 1000, 0, 0);
        record(SPEX_LAT, 2, 100, 1000 + (uint64_t)i % 2 * 10, 0, 0);
        record(SPEX_LAT, 3, 1, 1000 + (uint64_t)i % 2 * 1000, 0, 0);
        record(SPEX_LAT, 4, 2, 1000 + (uint64_t)i % 2 * 1000, 0, 0);
    }
    row(SPEX_LAT, 1, "a");
    row(SPEX_LAT, 2, "b");
    row(SPEX_LAT, 3, "all");
    row(SPEX_LAT, 4, "half");
    type(SPEX_LAT, 0, true, true);
    /* Three times the 20 records, but 20 at most where 20 are missing. */
    assert_true(near(spex_profile_halving(&profile, &rows[0].probe), 60 * 18e-9 / 0.001));
    assert_true(near(spex_profile_halving(&profile, &rows[1].probe), 60 * 18e-9 / 0.001));
    assert_true(spex_profile_halving(&profile, &rows[2].probe) <= 0);
    assert_true(near(spex_profile_halving(&profile, &rows[3].probe), 20 * 18e-9 / 0.001));
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_table_notes(file, &profile, true);
    assert_int_equal(fclose(file), 0);
    const char *told = strstr(text, "half the interval of a mean takes more of the CPU time: a ");
    assert_non_null(told);
    assert_null(strstr(told, "all lat"));
    assert_true(strstr(told, "half lat") < strstr(told, "b lat"));
    free(text);
    profile.types[0].measured = false;
    assert_true(spex_profile_halving(&profile, &rows[0].probe) <= 0);
}

/* Believed to cost two milliseconds, as each of a million executions costs 2 ns in calibration. */
TEST_WITH(what_it_costs_is_a_part_of_the_time, verbose, teardown) {
    profile.process.program_seconds = 0.001;
    record(SPEX_CNT, 1, 1000000, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    type(SPEX_CNT, 0, true, true);
    assert_true(spex_profile_cost(&profile) == 0.001);
    char *text = table_text();
    assert_non_null(strstr(text, "probes at most 100 % of the CPU time, "));
    assert_non_null(strstr(text, "program 1 ms, probes at most 1 ms, "));
    free(text);
}

/* A million executions at 2 ns and one record, all of it three times as dear as calibrated. */
TEST_WITH(what_experiments_found_is_in_the_cost, verbose, teardown) {
    profile.process.program_seconds = 1;
    record(SPEX_CNT, 1, 1000000, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    type(SPEX_CNT, 0, true, true);
    double calibrated = spex_profile_row_cost(&profile, &rows[0].probe);
    assert_true(calibrated > 0.001 && calibrated < 0.003);
    rows[0].probe.cost_factor = 3;
    assert_true(fabs(spex_profile_row_cost(&profile, &rows[0].probe) - 3 * calibrated) < 1e-12);
}

TEST_WITH(costs_that_are_not_known, verbose, teardown) {
    profile.process.program_seconds = 0.001;
    record(SPEX_CNT, 1, 1, 1, 0, 0);
    row(SPEX_CNT, 1, "");
    type(SPEX_CNT, 0, true, false);
    expect("probe  type  count  per s\n"
           "1      cnt       1    0.5\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "overhead: of probes not known, spex's own threads 0 %\n"
           "rings: restartable sequences, 2 CPUs, 3.0 MiB reserved\n"
           "CPU time: program 1 ms, probes at least 0 ns, spex's own threads 0 ns\n");
}
/* Ticks are half a nanosecond. Of PERFCNTR the first entry has the costs, and another is used. */
TEST_WITH(each_cost_is_told_of_what_is_used, verbose, teardown) {
    profile.process.ticks_per_second = 2e9;
    profile.process.commit = SPEX_COMMIT_ATOMIC;
    row(SPEX_CNT, 1, "");
    row(SPEX_LAT, 2, "")->activity.looks = 1;
    type(SPEX_LAT, 0, true, true);
    type(SPEX_CNT, 0, true, true);
    type(SPEX_PERFCNTR, 0, false, true);
    type(SPEX_PERFCNTR, 3, true, true);
    types[0].record = 2000;
    types[1] = (struct spex_profile_type){SPEX_CNT,       .used = true, .measured = true,
                                          .record = 1998, .skip = 6,    .polled = 15};
    types[1].empty = 20;
    types[1].empty_error = 8;
    types[2].polled = types[2].empty = 5;
    snprintf(types[2].text, sizeof(types[2].text), "not used");
    snprintf(types[3].text, sizeof(types[3].text), "shared");
    expect_notes("rings: atomic instructions, 2 CPUs, 3.0 MiB reserved; a record costs lat 1 µs, "
                 "cnt 999 ns, perfcntr 10 ns, a skipped execution 3 ns, a polled one 7.5 ns\n"
                 "times are without what the clock itself takes: cnt 10 ns ±4\n"
                 "perfcntr: shared\n");
    profile.process.ticks_per_second = 0;
    expect_notes("rings: atomic instructions, 2 CPUs, 3.0 MiB reserved\nperfcntr: shared\n");
    profile.process.ticks_per_second = 0.5; /* however slow */
    profile.process.ring_bytes = 0;
    expect_notes("times are without what the clock itself takes: cnt 4e+10 ns ±1.6e+10\n"
                 "perfcntr: shared\n");
}

/* Without rings the profile is of a trace. */
TEST_WITH(losses_and_a_budget_without_time, verbose, teardown) {
    profile.process.ring_bytes = 0;
    profile.process.budget = 0.02;
    snprintf(profile.process.rate_policy, sizeof(profile.process.rate_policy), "fair");
    row(SPEX_CNT, 1, "")->lost_shared = true;
    row(SPEX_CNT, 2, "");
    const char *budget =
        "budget: 2 % of the program's CPU time; as believed, 0 % was used\n"
        "budget: 0 ns used, including spex's own threads, of 0 ns; shared out by fair\n"
        "costs: as calibrated, not measured while the program ran\n";
    expect_notes(budget);
    profile.process.lost = 1;
    char text[512];
    for (unsigned shared = 2; shared-- > 0; rows[0].probe.lost_shared = false) {
        snprintf(text, sizeof(text),
                 "lost: records; their executions are counted all the same, and what they took is "
                 "not%s\n%s",
                 shared ? "; ~ is a probe's share of its type's, by records" : "", budget);
        expect_notes(text);
    }
}

/* Without more, there are the records and what probes cost, or what was used of the budget. */
TEST_WITH(brief_notes_are_two, verbose, teardown) {
    look.verbose = false;
    profile.process.program_seconds = 2;
    profile.process.collector_seconds = 0.01;
    record(SPEX_LAT, 1, 1000, 1000, 0, SPEX_MARK_OPENING);
    row(SPEX_LAT, 1, "a")->spans_open = 3;
    type(SPEX_LAT, 0, true, true);
    types[0].empty = 10;
    snprintf(types[0].text, sizeof(types[0].text), "by the kernel's records");
    expect("probe  type  1 in  count  per s\n"
           "a      lat   1000   1000    500\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "overhead, as believed: probes <0.001 % of the CPU time, spex's own threads 0.5 %\n");
    profile.process.budget = 0.02;
    profile.process.budget_spent = 0.03;
    profile.process.budget_seconds = 2;
    expect("probe  type  1 in  count  per s\n"
           "a      lat   1000   1000    500\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "budget: 2 % of the program's CPU time; as believed, 1.5 % was used\n");
    profile.process.budget_spent = 0.05;
    expect("probe  type  1 in  count  per s\n"
           "a      lat   1000   1000    500\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "budget: 2 % of the program's CPU time; as believed, 2.5 % was used: exceeded\n");
    profile.process.budget_spent = 0.0401; /* as much, but for a digit that is not shown */
    expect("probe  type  1 in  count  per s\n"
           "a      lat   1000   1000    500\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "budget: 2 % of the program's CPU time; as believed, 2 % was used\n");
}

/* What was lost, and what makes figures untrue, is always told. */
TEST_WITH(what_is_never_hidden, verbose, teardown) {
    static const char *const told[] = {
        "lost: records; ",
        "1 child of a fork was not followed",
        "2 probe sites were refused",
        "b llc: 1 of 2 records have values estimated",
        "c flt: 1 of 1 records have no values",
        "flt: no counter is there",
        "d snapshot: length of 1 records is infinite or no number",
        "e span: 5 abandoned, whose END never came",
        "f span: 6 not recorded for want of room",
        "g span: 7 ENDs without a BEGIN",
    };
    look.verbose = false;
    look.width = 1000;
    profile.process.lost = 1;
    profile.process.unfollowed = 1;
    profile.process.sites_refused = 2;
    record(SPEX_LLC, 2, 1, 100, 10, 0);
    record(SPEX_LLC, 2, 1, 300, 30, SPEX_MARK_SCALED);
    record(SPEX_FLT, 3, 1, 0, 0, SPEX_MARK_UNAVAILABLE);
    row(SPEX_LLC, 2, "b");
    row(SPEX_FLT, 3, "c");
    static struct spex_values values;
    spex_values_clear(&values);
    values.left_out = 1;
    struct spex_profile_probe *probe = row(SPEX_SNAPSHOT, 4, "d");
    probe->series = 1;
    probe->records = 1;
    rows[2].values[0] = &values;
    static struct spex_profile_site site = {
        .probe_type = SPEX_SNAPSHOT, .probe_id = 4, .parameters = "length"};
    profile.sites = &site;
    profile.site_count = 1;
    row(SPEX_SPAN, 5, "e")->spans_abandoned = 5;
    row(SPEX_SPAN, 6, "f")->spans_refused = 6;
    row(SPEX_SPAN, 7, "g")->spans_unmatched = 7;
    type(SPEX_FLT, 0, true, false);
    snprintf(types[0].text, sizeof(types[0].text), "no counter is there");
    char *text = table_text();
    for (size_t t = 0; t < COUNT_OF(told); t++)
        if (!strstr(text, told[t]))
            fail_msg("\"%s\" is not in:\n%s", told[t], text);
    assert_null(strstr(text, "rings"));
    free(text);
}
