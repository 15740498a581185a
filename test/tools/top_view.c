/* SPDX-License-Identifier: MIT */
/* What spex top shows: rows of sites and figures, their order, the cursor, and what keys send. */
#include <errno.h>

#include <spex/site.h>

#include "../check.h"
#include "stats/values.h"
#include "tools/top/top_view.h"

static struct spex_profile_site sites[] = {
    {.probe_id = 7,
     .probe_type = SPEX_LAT,
     .subsample = 10,
     .period = 0,
     .loaded = 1,
     .name = "beta"},
    {.probe_id = 7,
     .probe_type = SPEX_LAT,
     .subsample = 5,
     .period = 20,
     .loaded = 1,
     .name = "beta"},
    {.probe_id = 7,
     .probe_type = SPEX_CNT,
     .subsample = 1,
     .period = 1,
     .loaded = 1,
     .name = "beta"},
    {.probe_id = 2, .probe_type = SPEX_SNAPSHOT, .subsample = 1, .loaded = 1},
    {.probe_id = 9, .probe_type = SPEX_LAT, .subsample = 1, .loaded = 0, .name = "Alpha"},
};

static struct spex_values times;

static struct spex_profile_row rows[] = {
    {.probe = {.probe_type = SPEX_CNT, .probe_id = 7, .on_seconds = 2, .count = 50, .records = 50}},
    {.probe = {.probe_type = SPEX_LAT,
               .probe_id = 7,
               .series = 1,
               .on_seconds = 2,
               .count = 20,
               .weight = 20,
               .weight_squares = 40,
               .records = 10,
               .lost = 3,
               .lost_shared = 1},
     .values = {&times}},
};

static struct spex_profile profile = {
    .process = {.process_id = 4711,
                .ticks_per_second = 1e6,
                .seconds = 2,
                .program_seconds = 1,
                .collector_seconds = 0.5,
                .produced = 60,
                .lost = 3,
                .sites_on = 2,
                .sites_loaded = 4,
                .command = "server"},
    .sites = sites,
    .site_count = COUNT_OF(sites),
    .rows = rows,
    .row_count = COUNT_OF(rows),
};

static struct spex_top_view view;

static int setup(void **state) {
    (void)state;
    spex_values_clear(&times);
    spex_histogram_add(&times.histogram, 1000, 10);
    times.weight = 10;
    times.mean = 1000;
    times.min = times.max = 1000;
    memset(&view, 0, sizeof(view));
    view.sort = SPEX_TOP_PROBE;
    return spex_top_view_fill(&view, &profile, &profile);
}

static int teardown(void **state) {
    (void)state;
    spex_top_view_free(&view);
    return 0;
}

/* The rows shown, as "name:type …" without what is equal in all. */
static void assert_shown(const char *expected) {
    char shown[1024] = "", cell[64];
    for (size_t s = 0; s < view.shown_count; s++) {
        const struct spex_top_row *row = &view.rows[view.shown[s]];
        size_t length = strlen(shown);
        spex_top_cell(row, view.span, SPEX_TOP_TYPE, 8, cell, sizeof(cell));
        snprintf(shown + length, sizeof(shown) - length, "%s%s:%s", s ? " " : "", row->name, cell);
    }
    assert_string_equal(shown, expected);
}

static void assert_cell(const char *name, uint32_t type, enum spex_top_column column,
                        const char *expected) {
    char cell[64];
    for (size_t r = 0; r < view.row_count; r++)
        if (strcmp(view.rows[r].name, name) == 0 && view.rows[r].type == type) {
            spex_top_cell(&view.rows[r], view.span, column, sizeof(cell), cell, sizeof(cell));
            assert_string_equal(cell, expected);
            return;
        }
    fail_msg("no row %s", name);
}

static void sort_by(enum spex_top_column column) {
    view.sort = column;
    spex_top_view_arrange(&view);
}

static void select_row(const char *name, uint32_t type) {
    spex_top_view_move(&view, -100);
    for (size_t s = 0; s < view.shown_count; s++, spex_top_view_move(&view, 1)) {
        const struct spex_top_row *row = spex_top_view_current(&view);
        if (strcmp(row->name, name) == 0 && row->type == type)
            return;
    }
    fail_msg("no row %s", name);
}

TEST_WITH(test_sites_become_rows, setup, teardown) {
    assert_shown("2:snapshot Alpha:lat beta:cnt beta:lat");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_PERIOD, "20 (1/2)");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_PERIOD, "1");
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_PERIOD, "off");
    assert_cell("Alpha", SPEX_LAT, SPEX_TOP_PERIOD, "gone");
    assert_cell("Alpha", SPEX_LAT, SPEX_TOP_ID, "9");
}

/* What a text says: a number, its prefix, and "~" or "<" before it. */
static double number_told(const char *text) {
    static const struct {
        const char *name;
        double factor;
    } prefixes[] = {{" ns", 1e-9}, {" µs", 1e-6}, {" ms", 1e-3}, {" k", 1e3},
                    {" M", 1e6},   {" G", 1e9},   {" T", 1e12},  {" %", 1e-2}};
    char *end;
    double number = strtod(text + strspn(text, "~<"), &end);
    for (size_t p = 0; p < COUNT_OF(prefixes); p++)
        if (strcmp(end, prefixes[p].name) == 0)
            return number * prefixes[p].factor;
    return strcmp(end, " s") == 0 || !*end ? number : NAN;
}

static unsigned width_of(const char *text) {
    unsigned width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* In columns as narrow as those of the screen: no number is cut so that it reads as another one. */
TEST(test_numbers_are_never_cut) {
    static const enum spex_top_column columns[] = {SPEX_TOP_RATE,  SPEX_TOP_MEAN, SPEX_TOP_MAX,
                                                   SPEX_TOP_SHARE, SPEX_TOP_OFF,  SPEX_TOP_LOST};
    struct spex_top_row row = {.sites = 1, .sites_on = 1, .period = 1};
    struct spex_top_figures *figures = &row.figures[SPEX_TOP_INTERVAL];
    uint64_t random = 1;
    for (int n = 0; n < 20000; n++) {
        double value = pow(10, (double)random_below(&random, 2200) / 100 - 9);
        row.type = n % 2 ? SPEX_LAT : SPEX_CTXSW;
        *figures = (struct spex_top_figures){.has_rate = true,
                                             .has_values = true,
                                             .has_share = true,
                                             .rate = value,
                                             .mean = value,
                                             .max = value,
                                             .share = value,
                                             .off = fmin(value, 1),
                                             .lost = floor(value),
                                             .lost_shared = n % 3};
        for (size_t c = 0; c < COUNT_OF(columns); c++) {
            bool share = columns[c] == SPEX_TOP_SHARE || columns[c] == SPEX_TOP_OFF;
            double expected = columns[c] == SPEX_TOP_OFF    ? figures->off
                              : columns[c] == SPEX_TOP_LOST ? figures->lost
                                                            : value;
            char cell[64];
            spex_top_cell(&row, SPEX_TOP_INTERVAL, columns[c], share ? 7 : 8, cell, sizeof(cell));
            if (expected < 1e5 && (!share || expected < 1000) && expected > 1e-4)
                assert_in_range(width_of(cell), 1, share ? 7 : 8);
            double told = number_told(cell);
            if (share && !strchr(cell, '%'))
                told /= 100;
            if (share && *cell == '<' ? expected > told : fabs(told - expected) > 0.5 * expected)
                fail_msg("%s for %g", cell, expected);
        }
    }
}

TEST_WITH(test_figures, setup, teardown) {
    assert_cell("beta", SPEX_LAT, SPEX_TOP_RATE, "10");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_VALUE, "time");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_MEAN, "1 ms");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_MAX, "1 ms");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_SHARE, "1 %"); /* 20 times 1 ms in 2 s */
    assert_cell("beta", SPEX_LAT, SPEX_TOP_LOST, "~3");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_RATE, "25");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_MEAN, "");
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_RATE, "");
    assert_string_equal(view.head[0][0],
                        "server 4711   collecting for 2.0 s   2 of 4 probe sites on");
    assert_string_equal(view.head[0][1], "30 records/s  3 lost  overhead not known + collector "
                                         "50 %, as believed");
}

/* 80 columns, with a budget as well. */
TEST_WITH(test_the_head_fits_a_terminal, setup, teardown) {
    profile.process.produced = 246913579;
    profile.process.budget = 0.02;
    assert_int_equal(spex_top_view_fill(&view, &profile, &profile), 0);
    assert_string_equal(view.head[0][1],
                        "123.5 M records/s  3 lost  overhead not known + collector "
                        "50 % (0/2 costs)");
    assert_true(strlen(view.head[0][1]) <= 80);
    profile.process.produced = 60;
    profile.process.budget = 0;
}

/* One thread is not longer within a probe than all the time, though an execution began before. */
TEST_WITH(test_shares_are_no_more_than_the_threads, setup, teardown) {
    profile.process.threads = 1;
    times.mean = 150000; /* ticks: 20 times 0.15 s in 2 s */
    times.min = times.max = 150000;
    spex_histogram_add(&times.histogram, 150000, 10);
    assert_int_equal(spex_top_view_fill(&view, &profile, &profile), 0);
    assert_cell("beta", SPEX_LAT, SPEX_TOP_SHARE, "100 %");
    profile.process.threads = 2;
    assert_int_equal(spex_top_view_fill(&view, &profile, &profile), 0);
    assert_cell("beta", SPEX_LAT, SPEX_TOP_SHARE, "150 %");
    profile.process.threads = 0;
}

TEST_WITH(test_values_have_names, setup, teardown) {
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_VALUE, "v0");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_VALUE, "");
    strcpy(sites[3].parameters, "length, load");
    assert_int_equal(spex_top_view_fill(&view, &profile, &profile), 0);
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_VALUE, "length");
    sites[3].parameters[0] = '\0';
}

TEST_WITH(test_spans, setup, teardown) {
    assert_int_equal(spex_top_view_fill(&view, &profile, NULL), 0);
    assert_cell("beta", SPEX_CNT, SPEX_TOP_RATE, "");
    assert_string_equal(view.head[SPEX_TOP_INTERVAL][1], "");
    view.span = SPEX_TOP_START;
    assert_cell("beta", SPEX_CNT, SPEX_TOP_RATE, "25");
}

TEST_WITH(test_a_rate_that_is_a_bound, setup, teardown) {
    struct spex_profile_probe *probe = &rows[0].probe, before = *probe;
    probe->held_seconds = 8;
    probe->held_count = 1e8;
    probe->uncounted = 2e8;
    assert_int_equal(spex_top_view_fill(&view, &profile, &profile), 0);
    assert_cell("beta", SPEX_CNT, SPEX_TOP_RATE, "≥10 M");
    *probe = before;
}

TEST_WITH(test_sorting, setup, teardown) {
    sort_by(SPEX_TOP_ID);
    assert_shown("2:snapshot beta:cnt beta:lat Alpha:lat");
    sort_by(SPEX_TOP_TYPE);
    assert_shown("beta:cnt beta:lat Alpha:lat 2:snapshot");
    sort_by(SPEX_TOP_PERIOD);
    assert_shown("beta:cnt beta:lat 2:snapshot Alpha:lat");
    sort_by(SPEX_TOP_RATE);
    assert_shown("beta:cnt beta:lat 2:snapshot Alpha:lat");
    view.reversed = true;
    sort_by(SPEX_TOP_RATE); /* what has none stays at the end */
    assert_shown("beta:lat beta:cnt 2:snapshot Alpha:lat");
    sort_by(SPEX_TOP_PROBE);
    assert_shown("beta:cnt beta:lat Alpha:lat 2:snapshot");
    sort_by(SPEX_TOP_SHARE); /* backwards */
    assert_shown("beta:lat beta:cnt Alpha:lat 2:snapshot");
    view.reversed = false;
    sort_by(SPEX_TOP_SHARE); /* then by rate, then by name */
    assert_shown("beta:lat beta:cnt 2:snapshot Alpha:lat");
    /* The first time there is no interval. */
    assert_int_equal(spex_top_view_fill(&view, &profile, NULL), 0);
    assert_shown("beta:lat beta:cnt 2:snapshot Alpha:lat");
    sort_by(SPEX_TOP_PERIOD);
    spex_top_view_sort(&view, -1);
    assert_int_equal(view.sort, SPEX_TOP_LOST);
    spex_top_view_sort(&view, 1);
    assert_int_equal(view.sort, SPEX_TOP_PERIOD);
}

static void filter(const char *text) {
    snprintf(view.filter, sizeof(view.filter), "%s", text);
    spex_top_view_arrange(&view);
}

TEST_WITH(test_filter, setup, teardown) {
    filter("ALPHA");
    assert_shown("Alpha:lat");
    filter(":lat");
    assert_shown("Alpha:lat beta:lat");
    filter("nothing");
    assert_shown("");
    assert_null(spex_top_view_current(&view));
    spex_top_view_move(&view, 1);
    filter("");
    assert_int_equal(view.shown_count, 4);
}

TEST_WITH(test_the_cursor_stays_at_its_probe, setup, teardown) {
    select_row("beta", SPEX_LAT);
    assert_int_equal(view.cursor, 3);
    sort_by(SPEX_TOP_PERIOD);
    assert_int_equal(view.cursor, 1);
    filter(":lat");
    assert_int_equal(view.cursor, 0);
    assert_int_equal(spex_top_view_fill(&view, &profile, NULL), 0);
    assert_string_equal(spex_top_view_current(&view)->name, "beta");
    filter(":cnt");
    assert_int_equal(view.cursor, 0);
    filter("");
    assert_int_equal(spex_top_view_current(&view)->type, SPEX_LAT);
    spex_top_view_move(&view, 100);
    assert_int_equal(view.cursor, 3);
    spex_top_view_move(&view, -100);
    assert_int_equal(view.cursor, 0);
}

static void assert_toggled(const char *selection) {
    char text[128];
    assert_int_equal(spex_top_row_toggle(spex_top_view_current(&view), text, sizeof(text)), 0);
    assert_string_equal(text, selection);
}

TEST_WITH(test_toggling, setup, teardown) {
    select_row("2", SPEX_SNAPSHOT);
    assert_toggled("+2:snapshot");
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_PERIOD, "1");
    assert_toggled("+2:snapshot@off");
    assert_cell("2", SPEX_SNAPSHOT, SPEX_TOP_PERIOD, "off");
    select_row("beta", SPEX_LAT); /* one of two is on */
    assert_toggled("+7:lat@off");
    assert_toggled("+7:lat");
    assert_cell("beta", SPEX_LAT, SPEX_TOP_PERIOD, "5");
    char text[128];
    select_row("Alpha", SPEX_LAT);
    assert_int_equal(spex_top_row_toggle(spex_top_view_current(&view), text, sizeof(text)),
                     -EINVAL);
    assert_string_equal(text, "the library of Alpha is not loaded any more");
}

TEST_WITH(test_periods, setup, teardown) {
    char text[128];
    select_row("beta", SPEX_LAT);
    struct spex_top_row *row = spex_top_view_current(&view);
    assert_int_equal(spex_top_row_period(row, true, text, sizeof(text)), 0);
    assert_string_equal(text, "+7:lat@40");
    assert_int_equal(spex_top_row_period(row, false, text, sizeof(text)), 0);
    assert_string_equal(text, "+7:lat@20");
    row->period = 1;
    assert_int_equal(spex_top_row_period(row, false, text, sizeof(text)), -EINVAL);
    assert_string_equal(text, "beta cannot be recorded more often");
    row->period = SPEX_CONTROL_PERIOD_MAX - 1;
    assert_int_equal(spex_top_row_period(row, true, text, sizeof(text)), 0);
    assert_string_equal(text, "+7:lat@16777214");
    assert_int_equal(spex_top_row_period(row, true, text, sizeof(text)), -EINVAL);
    assert_string_equal(text, "beta cannot be recorded less often");
    select_row("2", SPEX_SNAPSHOT);
    assert_int_equal(spex_top_row_period(spex_top_view_current(&view), true, text, sizeof(text)),
                     -EINVAL);
    assert_string_equal(text, "2 is off");
}

TEST_WITH(test_a_polled_probe, setup, teardown) {
    struct spex_profile_probe before = rows[0].probe;
    char text[128];
    sites[2].kind = rows[0].probe.kind = SPEX_SAMPLING_POLLING;
    rows[0].probe.count = 0;
    rows[0].probe.polled_seconds = rows[0].probe.on_seconds;
    rows[0].probe.activity = (struct spex_occupancy){
        .looks = 100, .active = 40, .threads = 50, .thread_squares = 70, .pairs = 99};
    assert_int_equal(spex_top_view_fill(&view, &profile, NULL), 0);
    view.span = SPEX_TOP_START;
    assert_cell("beta", SPEX_CNT, SPEX_TOP_PERIOD, "polled");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_RATE, "");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_SHARE, "50 %");
    select_row("beta", SPEX_CNT);
    struct spex_top_row *row = spex_top_view_current(&view);
    assert_int_equal(spex_top_row_period(row, true, text, sizeof(text)), -EINVAL);
    assert_string_equal(text, "beta is polled, and has no period");
    assert_toggled("+7:cnt@off");
    assert_toggled("+7:cnt");
    assert_cell("beta", SPEX_CNT, SPEX_TOP_PERIOD, "1");
    sites[2].kind = 0;
    rows[0].probe = before;
}

TEST_WITH(test_a_program_without_probes, setup, teardown) {
    const struct spex_profile none = {.process = {.command = "empty"}};
    assert_int_equal(spex_top_view_fill(&view, &none, &none), 0);
    assert_shown("");
    assert_null(spex_top_view_current(&view));
    spex_top_view_move(&view, 1);
}

/* Two libraries with a probe 1, and one with a name in the place of an id. */
TEST_WITH(test_providers, setup, teardown) {
    static struct spex_profile_site two[] = {
        {.probe_id = 1, .name = "send", .provider = "lib,a", .declared = 2},
        {.probe_id = 65535, .provider = "libb", .declared = 2},
        {.probe_id = 65534, .name = "parse", .provider = "libb", .declared = SPEX_PROFILE_NO_ID},
    };
    static const char *const selections[][2] = {{"lib,a/send", "+lib?a/1:lat"},
                                                {"libb/1", "+libb/1:lat"},
                                                {"libb/parse", "+libb/parse:lat"}};
    const struct spex_profile both = {.sites = two, .site_count = COUNT_OF(two)};
    char text[64];
    for (size_t s = 0; s < COUNT_OF(two); s++) {
        two[s].probe_type = SPEX_LAT;
        two[s].subsample = two[s].loaded = 1;
    }
    assert_int_equal(spex_top_view_fill(&view, &both, NULL), 0);
    assert_int_equal(view.row_count, COUNT_OF(two));
    for (size_t r = 0, found; r < view.row_count; r++) {
        for (found = 0; strcmp(view.rows[r].name, selections[found][0]) != 0; found++)
            assert_true(found + 1 < COUNT_OF(selections));
        assert_int_equal(spex_top_row_toggle(&view.rows[r], text, sizeof(text)), 0);
        assert_string_equal(text, selections[found][1]);
    }
}
