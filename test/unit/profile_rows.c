/* SPDX-License-Identifier: MIT */
/* What a profile tells as a whole: which row is a probe's, of how many providers its probes are, how
 * long selections hold, what records have cost, and what marks of records mean. */
#include <math.h>

#include "made_profile.h"
#include "profile/profile.h"
#include "profile/table_notes.h"

/* ---- rows ---- */

enum { IDS = 5, TYPES = 3 };
static const uint32_t kinds[TYPES] = {SPEX_CNT, SPEX_LAT, SPEX_SNAPSHOT};

static int sign(int value) {
    return (value > 0) - (value < 0);
}

/* By id, then by type; of each subset of rows each is found, and nothing else. */
TEST_WITH(rows_are_found_by_id_and_type, setup, teardown) {
    static struct spex_profile_row all[IDS * TYPES];
    for (unsigned r = 0; r < COUNT_OF(all); r++) {
        all[r].probe.probe_id = (uint16_t)(2 * (r / TYPES) + 1);
        all[r].probe.probe_type = kinds[r % TYPES];
    }
    for (int a = 0; a < (int)COUNT_OF(all); a++)
        for (int b = 0; b < (int)COUNT_OF(all); b++)
            assert_int_equal(sign(spex_profile_row_order(&all[a], &all[b])), sign(a - b));
    uint64_t random = 1;
    for (unsigned round = 0; round < 400; round++) {
        uint64_t chosen = random_below(&random, UINT64_C(1) << COUNT_OF(all));
        struct spex_profile_row some[COUNT_OF(all)];
        struct spex_profile subset = {.rows = some};
        for (unsigned r = 0; r < COUNT_OF(all); r++)
            if (chosen >> r & 1)
                some[subset.row_count++] = all[r];
        size_t at = 0;
        for (unsigned r = 0; r < COUNT_OF(all); r++) {
            const struct spex_profile_probe *probe = &all[r].probe;
            const struct spex_profile_row *found =
                spex_profile_row_of(&subset, probe->probe_id, probe->probe_type);
            assert_ptr_equal(found, chosen >> r & 1 ? &some[at++] : NULL);
            assert_null(spex_profile_row_of(&subset, probe->probe_id - 1, probe->probe_type));
            assert_null(spex_profile_row_of(&subset, probe->probe_id + 1, probe->probe_type));
        }
    }
}

TEST_WITH(types_are_found_by_the_first, setup, teardown) {
    type(SPEX_CNT, 0, true, true);
    type(SPEX_PERFCNTR, 0, true, true);
    type(SPEX_PERFCNTR, 1, true, true);
    type(SPEX_LAT, 0, true, true);
    assert_ptr_equal(spex_profile_type_of(&profile, SPEX_CNT), &types[0]);
    assert_ptr_equal(spex_profile_type_of(&profile, SPEX_PERFCNTR), &types[1]);
    assert_ptr_equal(spex_profile_type_of(&profile, SPEX_LAT), &types[3]);
    assert_null(spex_profile_type_of(&profile, SPEX_SPAN));
}

/* Any one that differs from the others makes it a mixture. */
TEST_WITH(providers_are_one_or_several, setup, teardown) {
    struct spex_profile_site sites[3] = {{.index = 0}};
    assert_false(spex_profile_rows_mixed(&profile) || spex_profile_sites_mixed(&profile));
    profile.sites = sites;
    for (size_t count = 1; count <= 3; count++) {
        row(SPEX_CNT, (uint16_t)count, "");
        profile.site_count = count;
        assert_false(spex_profile_rows_mixed(&profile) || spex_profile_sites_mixed(&profile));
        for (size_t other = 0; other < count; other++) {
            strcpy(rows[other].probe.provider, "other");
            assert_int_equal(spex_profile_rows_mixed(&profile), count > 1);
            assert_false(spex_profile_sites_mixed(&profile));
            rows[other].probe.provider[0] = '\0';
            strcpy(sites[other].provider, "other");
            assert_int_equal(spex_profile_sites_mixed(&profile), count > 1);
            assert_false(spex_profile_rows_mixed(&profile));
            sites[other].provider[0] = '\0';
        }
    }
}

/* ---- leases ---- */

/* From the first that ends to the last, where these are not the same to a fiftieth. */
TEST_WITH(leases_end_at_once_or_one_after_another, setup, teardown) {
    static const struct {
        double first, last;
        const char *text;
    } cases[] = {
        {10, 10, "10.00 s"},  {9.801, 10, "10.00 s"},     {5, 10, "5.0 to 10.0 s"},
        {0.5, 0.5, "500 ms"}, {60, 3600, "60 to 3600 s"},
    };
    char text[64];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct spex_profile_process process = {.lease_first_seconds = cases[c].first,
                                                     .lease_seconds = cases[c].last};
        assert_ptr_equal(spex_profile_lease_text(&process, text, sizeof(text)), text);
        assert_string_equal(text, cases[c].text);
    }
}

/* ---- costs ---- */

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* 100 executions with 30 records and 10 that were lost, of types whose records cost 20 ticks, and
 * 50 where chance draws them; else an execution costs 2. A tick is a nanosecond. */
TEST_WITH(each_execution_has_its_cost, setup, teardown) {
    static const struct {
        enum spex_sampling_kind kind;
        double drawn, factor, cost;
    } cases[] = {
        {SPEX_SAMPLING_PERIODIC, 50, 0, 40 * 20 + 60 * 2},
        {SPEX_SAMPLING_GEOMETRIC, 50, 0, 40 * 50 + 60 * 2},
        {SPEX_SAMPLING_BURSTY, 50, 0, 40 * 50 + 60 * 2},
        {SPEX_SAMPLING_BURSTY, 10, 0, 40 * 20 + 60 * 2},
        {SPEX_SAMPLING_PERIODIC, 50, 0.5, 0.5 * (40 * 20 + 60 * 2)},
        {SPEX_SAMPLING_GEOMETRIC, 50, 3, 3 * (40 * 50 + 60 * 2)},
    };
    row(SPEX_LAT, 1, "");
    struct spex_profile_probe *probe = &rows[0].probe;
    probe->records = 30;
    probe->lost = 10;
    assert_false(spex_profile_costs_known(&profile));
    assert_string_equal(spex_profile_cost_bound(&profile), "at least ");
    assert_true(spex_profile_row_cost(&profile, probe) == 0);
    type(SPEX_LAT, 0, true, true);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        probe->count = 100;
        probe->kind = cases[c].kind;
        probe->cost_factor = (float)cases[c].factor;
        types[0].drawn = cases[c].drawn;
        double cost = spex_profile_row_cost(&profile, probe);
        assert_true(near(cost, cases[c].cost / 1e9));
        assert_true(spex_profile_cost(&profile) == cost);
        profile.process.program_seconds = 2 * cost;
        assert_true(spex_profile_cost(&profile) == cost);
        profile.process.program_seconds = cost / 2;
        assert_true(spex_profile_cost(&profile) == cost / 2);
        profile.process.program_seconds = 0;
        profile.process.ticks_per_second = 2e9;
        assert_true(near(spex_profile_row_cost(&profile, probe), cost / 2));
        profile.process.ticks_per_second = TICKS;
        assert_int_equal(spex_profile_measured(&profile), cases[c].factor > 0);
    }
    /* Not more were skipped than there were. */
    probe->cost_factor = 0;
    probe->kind = SPEX_SAMPLING_PERIODIC;
    probe->count = 39;
    assert_true(near(spex_profile_row_cost(&profile, probe), 40 * 20 / 1e9));
}

/* Of the types of those that have records. */
TEST_WITH(costs_are_known_or_not, setup, teardown) {
    assert_true(spex_profile_costs_known(&profile));
    row(SPEX_CNT, 1, "")->records = 1;
    row(SPEX_LAT, 2, "");
    type(SPEX_CNT, 0, true, true);
    type(SPEX_LAT, 0, true, false);
    assert_true(spex_profile_costs_known(&profile));
    rows[1].probe.records = 1;
    assert_false(spex_profile_costs_known(&profile));
    types[1].measured = 1;
    assert_true(spex_profile_costs_known(&profile));
    row(SPEX_SPAN, 3, "")->records = 1;
    assert_false(spex_profile_costs_known(&profile));
    profile.row_count--;
    profile.process.ticks_per_second = 0;
    assert_false(spex_profile_costs_known(&profile));
}

/* ---- marks ---- */

/* Each mark has its line. Times are left out whose thread was made ready meanwhile. */
TEST_WITH(marks_are_told, setup, teardown) {
    static const uint32_t of[] = {SPEX_LAT, SPEX_LLC};
    char *text = NULL;
    size_t size;
    profile.process.ring_bytes = 0;
    for (unsigned marks = 0; marks < 16; marks++) {
        char expected[512] = "";
        const char *kind = marks & 8 ? "llc" : "lat";
        int length = 0;
        profile.row_count = 0;
        struct spex_profile_probe *probe = row(of[marks >> 3], 1, "work");
        probe->records = 9;
        probe->marked[0] = marks & 1 ? 2 : 0;
        probe->marked[1] = marks & 2 ? 5 : 0;
        probe->marked[2] = marks & 4 ? 7 : 0;
        if (marks & 1)
            length += sprintf(expected,
                              "work %s: 2 of 9 records include the making ready of their thread or "
                              "counter%s\n",
                              kind, marks & 8 ? "" : ", and are left out of times");
        if (marks & 2)
            length += sprintf(expected + length,
                              "work %s: 5 of 9 records have values estimated from a part of the "
                              "time, as counters were shared\n",
                              kind);
        if (marks & 4)
            sprintf(expected + length,
                    "work %s: 7 of 9 records have no values: no counter was there, or they ended "
                    "on another thread\n",
                    kind);
        FILE *file = open_memstream(&text, &size);
        spex_table_notes(file, &profile, true);
        assert_int_equal(fclose(file), 0);
        assert_string_equal(text, expected);
        free(text);
    }
}
