/* SPDX-License-Identifier: MIT */
/* What holds of each table: no line is wider than the table may be, and what is printed is the figure.
 * Profiles are made up at random. */
#include <math.h>

#include "made_profile.h"
#include "profile/columns.h"
#include "profile/confidence.h"
#include "profile/figures.h"

enum { PROFILES = 60, CELLS = 32 };

/* The same in each run. */
static double drawn(void) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 40) / (1 << 24);
}

static uint64_t drawn_up_to(double decades) {
    return (uint64_t)pow(10, decades * drawn());
}

static size_t characters(const char *text, size_t bytes) {
    size_t count = 0;
    for (size_t b = 0; b < bytes; b++)
        count += ((unsigned char)text[b] & 0xc0) != 0x80;
    return count;
}

static void expect_narrow(const char *text, size_t width) {
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (characters(text, length) > width)
            fail_msg("wider than %zu: %.*s", width, (int)length, text);
        assert_true(length == 0 || text[length - 1] != ' ');
    }
}

/* A probe of some type with records of any size. */
static struct spex_profile_probe *draw_probe(uint16_t id, const char *name) {
    static const uint32_t of[] = {SPEX_CNT, SPEX_LAT,   SPEX_TPT,      SPEX_LLC,
                                  SPEX_FLT, SPEX_CTXSW, SPEX_SNAPSHOT, SPEX_SPAN};
    const size_t kinds = COUNT_OF(of);
    uint32_t kind = of[(size_t)(drawn() * (double)kinds)];
    uint32_t weight = drawn() < 0.5 ? 1 : (uint32_t)drawn_up_to(6);
    unsigned records = (unsigned)(drawn() * 50);
    double decades = 15 * drawn();
    for (unsigned r = 0; r < records; r++)
        record(kind, id, weight, drawn_up_to(decades), drawn_up_to(decades), 0);
    struct spex_profile_probe *probe = row(kind, id, name);
    probe->period_last = weight;
    if (drawn() < 0.3) {
        probe->held_seconds = 1.5;
        probe->held_count = 3 * probe->count;
        probe->uncounted = 6 * drawn() * probe->count;
    }
    if (drawn() < 0.3)
        probe->lost = (double)drawn_up_to(9);
    if (drawn() < 0.2) {
        probe->kind = SPEX_SAMPLING_POLLING;
        probe->polled_seconds = 1;
        for (unsigned i = 0; i < 100; i++)
            spex_occupancy_add(&probe->activity, 3 * (i / 4 % 2), -1);
    }
    return probe;
}

static void draw_profile(void) {
    static const char *const names[] = {"a",
                                        "query",
                                        "payments.gateway.authorise_card_with_three_domain_secure",
                                        "größe.prüfen",
                                        "数据库",
                                        ""};
    profile.row_count = profile.type_count = 0;
    spex_tracer_destroy(tracer);
    assert_int_equal(spex_tracer_create(&tracer), 0);
    for (uint16_t id = 1; id <= 6; id++)
        draw_probe(id, names[id - 1]);
    type(SPEX_LAT, 0, true, true);
    types[0].empty = 20;
    types[0].empty_error = 5;
    profile.process.lost = drawn() < 0.3 ? drawn_up_to(18) : 0;
    profile.process.produced = profile.process.lost + drawn_up_to(18);
    profile.process.program_seconds = (double)drawn_up_to(9) / 1e6;
    profile.process.budget = drawn() < 0.5 ? 0 : 0.01;
    profile.process.unfollowed = drawn() < 0.2;
    look.verbose = drawn() < 0.5;
}

TEST_WITH(no_line_is_wider_than_the_table_may_be, setup, teardown) {
    static const unsigned widths[] = {20, 40, 60, 80, 120, 200};
    for (int p = 0; p < PROFILES; p++) {
        draw_profile();
        for (size_t w = 0; w < COUNT_OF(widths); w++) {
            look.width = widths[w];
            char *text = table_text();
            expect_narrow(text, look.width);
            free(text);
        }
    }
}

/* Divides a row into its cells, which two blanks are between. */
static unsigned divide(char *line, char *cells[CELLS]) {
    unsigned count = 0;
    for (char *at = line; *at && count < CELLS; count++) {
        cells[count] = at;
        char *gap = strstr(at, "  ");
        at = gap ? gap + strspn(gap, " ") : at + strlen(at);
        if (gap)
            *gap = '\0';
    }
    return count;
}

/* Fails unless the cell says the figure, but for half a unit of its last digit. */
static void expect_figure(const char *cell, double figure) {
    static const struct {
        const char *text;
        double factor;
    } units[] = {{" ns", 1e-9}, {" µs", 1e-6}, {" ms", 1e-3}, {" s", 1}, {" k", 1e3},
                 {" M", 1e6},   {" G", 1e9},   {" T", 1e12},  {"", 1}};
    char *end;
    double number = strtod(cell, &end), last = 1, factor = 0;
    const char *point = strchr(cell, '.'), *exponent = strchr(cell, 'e');
    if (point && point < end)
        last = pow(10, -(double)strspn(point + 1, "0123456789"));
    if (exponent && exponent < end)
        last *= pow(10, (double)strtol(exponent + 1, NULL, 10));
    for (size_t u = 0; u < COUNT_OF(units) && !(factor > 0); u++)
        if (strncmp(end, units[u].text, strlen(units[u].text)) == 0)
            factor = units[u].factor;
    if (!(fabs(number * factor - figure) <= 0.5001 * last * factor + 1e-12 * fabs(figure)))
        fail_msg("%s is not %.17g", cell, figure);
}

/* The figures of a row from its total on. */
static unsigned expect_values(char *const cells[], const struct spex_profile_row *one) {
    struct spex_figures figures;
    spex_figures_of(&profile, one, 0, &figures);
    bool time = spex_probe_type_ticks(one->probe.probe_type);
    const double unit = time ? 1.0 / TICKS : 1;
    const double of[] = {figures.total,
                         figures.mean,
                         figures.quantiles[SPEX_FIGURES_P50].value,
                         figures.quantiles[SPEX_FIGURES_P90].value,
                         figures.quantiles[SPEX_FIGURES_P99].value,
                         figures.quantiles[SPEX_FIGURES_P999].value,
                         figures.max};
    unsigned told = 0;
    for (size_t f = 0; f < COUNT_OF(of); f++) {
        bool unknown = strcmp(cells[f], "?") == 0 || strcmp(cells[f], "-") == 0;
        assert_true(isnan(of[f]) == unknown);
        if (!unknown)
            expect_figure(cells[f], of[f] * unit);
        told += !unknown;
    }
    return told;
}

/* One probe in a table of any width. Its count is whole where it is exact. */
TEST_WITH(what_is_printed_is_the_figure, setup, teardown) {
    unsigned told = 0;
    look.width = 1000;
    for (int p = 0; p < 5 * PROFILES; p++) {
        char *cells[CELLS], *heads[CELLS];
        draw_profile();
        profile.row_count = 1;
        rows[0].probe.activity = (struct spex_occupancy){0};
        char *text = table_text(), *line = strchr(text, '\n') + 1;
        line[-1] = *strchr(line, '\n') = '\0';
        unsigned columns = divide(text, heads);
        divide(line, cells);
        for (unsigned c = 0; c < columns; c++) {
            const struct spex_profile_probe *probe = &rows[0].probe;
            if (strcmp(heads[c], "count") == 0 && strncmp(cells[c], "≥", strlen("≥")) == 0)
                expect_figure(cells[c] + strlen("≥"), spex_profile_executions_least(probe));
            else if (strcmp(heads[c], "count") == 0 && spex_profile_counted(probe))
                expect_figure(cells[c], spex_profile_executions(probe));
            else if (strcmp(heads[c], "total") == 0 && probe->series)
                told += expect_values(cells + c, &rows[0]);
            else if (strcmp(heads[c], "1 in") == 0 && probe->records && cells[c][0] != 'p')
                expect_figure(cells[c], spex_profile_one_in(probe));
        }
        free(text);
    }
    assert_true(told > PROFILES);
}

/* What the table needs least is left out first, and a name is cut in its middle. */
TEST_WITH(narrow_tables_have_less, setup, teardown) {
    for (int i = 0; i < 1000; i++)
        record(SPEX_LAT, 1, 1, 10000 + (uint64_t)i, 0, 0);
    row(SPEX_LAT, 1, "payments.gateway.authorise_card");
    profile.process.ring_bytes = 0;
    look.width = 40;
    expect("probe        type  count  per s    total\n"
           "payme…_card  lat    1000    500  10.5 ms\n"
           "2.000 s; records: 0 produced,\n"
           "  0 consumed, 0 lost\n"
           "no room for mean, p50, p99, max: a width\n"
           "  of 96 is needed\n");
    look.width = 80;
    expect("probe                     type  count  per s    total     mean      p50      p99\n"
           "payments.gat…horise_card  lat    1000    500  10.5 ms  10.5 µs  10.6 µs  10.9 µs\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n"
           "no room for max: a width of 96 is needed\n");
    look.width = 96;
    expect("probe                            type  count  per s    total     mean      p50      "
           "p99      max\n"
           "payments.gateway.authorise_card  lat    1000    500  10.5 ms  10.5 µs  10.6 µs  10.9 "
           "µs  11.0 µs\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
    look.width = 120;
    expect("probe                            type  count  per s    total     mean      p50      "
           "p90      p99    p99.9      max\n"
           "payments.gateway.authorise_card  lat    1000    500  10.5 ms  10.5 µs  10.6 µs  10.9 "
           "µs  10.9 µs  10.9 µs  11.0 µs\n"
           "2.000 s; records: 0 produced, 0 consumed, 0 lost\n");
}

/* By the total time, also where it is not told; then by the cost, and by the count. */
TEST_WITH(the_dearest_is_first, setup, teardown) {
    static const char *const names[] = {"some", "most",   "unknown", "polled",
                                        "dear", "seldom", "often"};
    for (unsigned n = 0; n < 10; n++) {
        record(SPEX_LAT, 1, 1, 1000, 0, 0);
        record(SPEX_LAT, 2, 1, 9000, 0, 0);
        record(SPEX_LAT, 3, 1, 5000, 0, 0);
        record(SPEX_CNT, 5, 1000, 1, 0, 0);
    }
    for (uint16_t id = 1; id <= 7; id++)
        row(id <= 4 ? SPEX_LAT : id == 5 ? SPEX_CNT : SPEX_FLT, id, names[id - 1]);
    rows[2].probe.refused = 1;
    rows[3].probe.polled_seconds = 3e-5;
    for (int i = 0; i < 10; i++)
        spex_occupancy_add(&rows[3].probe.activity, 1, -1);
    type(SPEX_CNT, 0, true, true);
    rows[5].probe.count = 1;
    rows[6].probe.count = 100;
    char *text = table_text();
    static const char *const order[] = {"most", "unknown", "polled", "some",
                                        "dear", "often",   "seldom"};
    const char *before = text;
    for (size_t o = 0; o < COUNT_OF(order); o++) {
        const char *found = strstr(text, order[o]);
        assert_true(found && found > before);
        before = found;
    }
    free(text);
}
