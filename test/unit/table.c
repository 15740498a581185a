/* SPDX-License-Identifier: MIT */
/* The table of profiles that are made up, as text. */
#include <math.h>

#include "../comma_locale.h"
#include "made_profile.h"
#include "profile/columns.h"
#include "profile/figures.h"

TEST_WITH(nothing, setup, teardown) {
    expect("no probe was on\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

/* Records that were in the rings at the end of the interval, or at its begin. */
TEST_WITH(what_waits_in_rings, setup, teardown) {
    profile.process.produced = 30;
    profile.process.consumed = 25;
    expect("no probe was on\n"
           "2.000 s; records: 30 produced, 25 consumed, 0 lost, 5 still in rings\n");
    profile.process.consumed = 32;
    expect("no probe was on\n"
           "2.000 s; records: 30 produced, 32 consumed, 0 lost, 2 of them from before\n");
}

/* In slices of the time: 100,000 executions were counted in 0.1 s. */
TEST_WITH(what_was_held_off, setup, teardown) {
    struct spex_profile_probe *probe = row(SPEX_CNT, 1, "hot");
    probe->on_seconds = 0.1;
    probe->count = 1e5;
    probe->held_seconds = 1.9;
    probe->held_count = 1.9e6;
    probe->uncounted = 2e5;
    expect("probe  type  count        per s   off\n"
           "hot    cnt     2 M ±10 %    1 M  95 %\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

/* Slices tell no more than what it is at least. */
TEST_WITH(what_is_bounded, setup, teardown) {
    struct spex_profile_probe *probe = row(SPEX_CNT, 1, "hot");
    probe->on_seconds = 0.1;
    probe->count = 1e5;
    probe->held_seconds = 1.9;
    probe->held_count = 1.9e6;
    probe->uncounted = 2.1e6;
    expect("probe  type  count  per s   off\n"
           "hot    cnt    ≥2 M   ≥1 M  95 %\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

TEST_WITH(what_is_not_known_of_hold_offs, setup, teardown) {
    struct spex_profile_probe *probe = row(SPEX_CNT, 2, "short");
    probe->on_seconds = 0.1;
    probe->count = 1e5;
    probe->held_seconds = 1.9;
    probe->uncounted = 1e9;
    expect("probe  type    count  per s   off\n"
           "short  cnt   ≥100000      ?  95 %\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "?: only a part of the executions was counted (≥)\n");
}

TEST_WITH(what_is_not_known_of_sites, setup, teardown) {
    for (uint64_t ticks = 10; ticks <= 40; ticks += 10)
        record(SPEX_LAT, 1, 1, ticks, 0, 0);
    row(SPEX_LAT, 1, "plugin")->refused = 1;
    row(SPEX_CNT, 2, "other")->count = 7;
    profile.process.sites_refused = 3;
    expect(
        "probe   type  count  per s  total     mean      p50      p90      p99    p99.9      max\n"
        "plugin  lat      ≥4      ?      ?  25.0 ns  20.0 ns  40.0 ns  40.0 ns  40.0 ns  40.0 ns\n"
        "other   cnt       7    3.5      -        -        -        -        -        -        -\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
        "?: only a part of the executions was counted (≥)\n"
        "3 probe sites were refused, as spex said when they were loaded: what they did is in no "
        "figure here\n");
}

TEST_WITH(probes_without_records, setup, teardown) {
    row(SPEX_CNT, 1, "never");
    struct spex_profile_probe *probe = row(SPEX_LAT, 2, "seldom");
    probe->period_last = 1000;
    probe->count = 2997;
    expect("probe   type  1 in  count  per s\n"
           "seldom  lat   1000   2997   1498\n"
           "never   cnt      1      0      0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

TEST_WITH(times, setup, teardown) {
    for (uint64_t ticks = 10; ticks <= 40; ticks += 10)
        record(SPEX_LAT, 7, 1, ticks, 0, 0);
    record(SPEX_TPT, 8, 1, 2500000000, 0, 0);
    record(SPEX_TPT, 8, 1, 2500000000000, 0, 0);
    row(SPEX_LAT, 7, "");
    row(SPEX_TPT, 8, "slow");
    expect(
        "probe  type  count  per s   total     mean      p50      p90      p99    p99.9      max\n"
        "slow   tpt       2      1  2502 s   1251 s   2.50 s   2491 s   2491 s   2491 s   2500 s\n"
        "7      lat       4      2  100 ns  25.0 ns  20.0 ns  40.0 ns  40.0 ns  40.0 ns  40.0 ns\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

/* Two threads had four seconds, of which a sample makes more. */
TEST_WITH(totals_within_the_time_there_was, setup, teardown) {
    struct spex_figures figures;
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

TEST_WITH(shares_of_time, setup, teardown) {
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
    expect("probe  type    1 in  count  per s    value    total     mean             p50      p90  "
           "    p99    p99.9      max\n"
           "many   lat   polled      -      -   active   1.00 s     50 % ±3.1 %\n"
           "                                   threads   2.00 s        1 ±0.062\n"
           "half   lat   polled      -      -   active   1.00 s     50 % ±3.1 %\n"
           "few    lat   polled      -      -   active   1.00 s     50 % ±?\n"
           "both   lat   polled      1      2     time  20.0 ns  20.0 ns         20.0 ns  20.0 ns  "
           "20.0 ns  20.0 ns  20.0 ns\n"
           "                                    active   750 ms     50 % ±3.1 %\n"
           "rare   lat   polled      -      -   active  40.0 ms      2 % ±?\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "?: too few looks to tell\n");
}

TEST_WITH(times_in_the_first_milliseconds, setup, teardown) {
    profile.process.ticks_per_second = 0;
    profile.process.program_seconds = 0.001;
    record(SPEX_LAT, 7, 1, 10, 0, 0);
    type(SPEX_LAT, 0, true, true);
    row(SPEX_LAT, 7, "")->on_seconds = 0;
    expect("probe  type  count\n"
           "7      lat       1\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "overhead: of probes not known, spex's own threads 0 %\n");
}

TEST_WITH(samples, setup, teardown) {
    for (uint64_t v = 1; v <= 100; v++)
        record(SPEX_SNAPSHOT, 9, 1000, v, 0, 0);
    record(SPEX_SNAPSHOT, 10, 20000, 1234567, 7, 0);
    row(SPEX_SNAPSHOT, 9, "many")->count_variance = 250000;
    row(SPEX_SNAPSHOT, 10, "one");
    expect("probe  type       1 in  count          per s  value   total    mean           p50      "
           "     p99      p99.9        max\n"
           "many   snapshot   1000  100 k ±0.98 %   50 k     v0  5.05 M    50.5 ±11 %      50 ±20 "
           "%      99 ±?     100 ±?     100\n"
           "                                                 v1       0       0             0      "
           "       0 ±?       0 ±?       0\n"
           "one    snapshot  20000  20000           10 k     v0       ?  1.23 M ±?     1.23 M ±?   "
           "  1.23 M ±?  1.23 M ±?  1.23 M\n"
           "                                                 v1       ?       7 ±?          7 ±?   "
           "       7 ±?       7 ±?       7\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "?: too few records to tell\n");
}

/* As in an interval in which it was not executed. */
TEST_WITH(values_of_which_there_are_none, setup, teardown) {
    static struct spex_values none;
    row(SPEX_SNAPSHOT, 9, "state")->series = 3;
    for (unsigned s = 0; s < 3; s++)
        rows[0].values[s] = &none;
    expect("probe  type      count  per s\n"
           "state  snapshot      0      0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

TEST_WITH(counters_that_are_not_available, setup, teardown) {
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
        "probe  type  count  per s       value  total     mean         p50         p90         "
        "p99       p99.9         max\n"
        "3      lat       2      1        time      ?  20.0 ns ±?  20.0 ns ±?  20.0 ns ±?  20.0 "
        "ns ±?  20.0 ns ±?  20.0 ns\n"
        "some   llc       3    1.5  references      ?      200 ±?      100 ±?      300 ±?      "
        "300 ±?      300 ±?      300\n"
        "                               misses      ?       20 ±?       10 ±?       30 ±?       "
        "30 ±?       30 ±?       30\n"
        "2      flt       1    0.5           -      -        -           -           -          "
        " -           -           -\n"
        "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
        "?: too few records to tell; more than a tenth of the records are left out of times; the "
        "margin is larger than the figure\n"
        "llc: what the processor says\n"
        "some llc: 1 of 3 records have values estimated from a part of the time, as counters "
        "were shared\n"
        "some llc: 1 of 3 records have no values: no counter was there, or they ended on "
        "another thread\n"
        "2 flt: 1 of 1 records have no values: no counter was there, or they ended on another "
        "thread\n");
}

TEST_WITH(losses, setup, teardown) {
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
    expect("probe  type  count  per s  lost\n"
           "1      cnt       4      2   ~50\n"
           "2      cnt       4      2   ~50\n"
           "3      cnt       0      0    ~0\n"
           "1      flt       0      0     1\n"
           "2.000 s; records: 110 produced, 8 consumed, 102 lost\n"
           "lost: records; their executions are counted all the same, and what they took is not; ~ "
           "is a probe's share of its type's,\n"
           "  by records\n");
}

/* As in an interval in which a probe made no records: there are no figures, which are not 0. */
TEST_WITH(of_nothing_recorded_nothing_is_told, setup, teardown) {
    static struct spex_values none;
    spex_values_clear(&none);
    struct spex_profile_probe *probe = row(SPEX_LAT, 1, "");
    probe->series = 1;
    rows[0].values[0] = &none;
    expect("probe  type  count  per s\n"
           "1      lat       0      0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

TEST_WITH(names_cannot_speak_to_the_terminal, setup, teardown) {
    row(SPEX_CNT, 1, "\033[2Jé");
    expect("probe  type  count  per s\n"
           "?[2Jé  cnt       0      0\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}
