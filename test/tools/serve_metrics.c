/* SPDX-License-Identifier: MIT */
/* Sums over processes, and the text of /metrics that is made of them. */
#define _GNU_SOURCE
#include "../check.h"
#include "profile/figures.h"
#include "tools/serve/metrics.h"

/* A process with a probe `query` (lat), whose ticks are nanoseconds. */
struct made {
    struct spex_profile profile;
    struct spex_profile_row row;
    struct spex_profile_type type;
    struct spex_values values;
};

static void add_times(struct made *made, uint64_t ns, uint64_t count) {
    struct spex_values *values = &made->values;
    double weight = values->weight + (double)count;
    spex_histogram_add(&values->histogram, ns, count);
    values->mean += (double)count * ((double)ns - values->mean) / weight;
    values->weight = weight;
    made->row.probe.records += count;
    made->row.probe.weight = weight;
    made->row.probe.count = weight;
}

static void make(struct made *made, const char *name) {
    memset(made, 0, sizeof(*made));
    spex_values_clear(&made->values);
    made->row.probe = (struct spex_profile_probe){.probe_type = SPEX_LAT,
                                                  .probe_id = 3,
                                                  .declared = 4,
                                                  .series = 1,
                                                  .sites = 1,
                                                  .sites_on = 1,
                                                  .period = 1,
                                                  .period_last = 1,
                                                  .on_seconds = 2};
    snprintf(made->row.probe.name, sizeof(made->row.probe.name), "%s", name);
    made->row.values[0] = &made->values;
    made->type.probe_type = SPEX_LAT;
    made->profile = (struct spex_profile){
        .types = &made->type, .type_count = 1, .rows = &made->row, .row_count = 1};
    made->profile.process.ticks_per_second = 1e9;
    made->profile.process.sites = made->profile.process.sites_on = 1;
}

/* Replaces `sums` by those of a profile. */
static int sums_of(struct spex_sums *sums, const struct spex_profile *profile, size_t most) {
    int err = 0;
    spex_sums_free(sums);
    for (size_t r = 0; r < profile->row_count && !err; r++)
        err = spex_sums_take(sums, profile, &profile->rows[r], most);
    spex_sums_end(sums, profile);
    return err;
}

static double bucket(const struct spex_sums *sums, const char *bound) {
    for (size_t b = 0; b < SPEX_SUMS_BOUNDS; b++)
        if (spex_sums_bounds[b] == strtod(bound, NULL))
            return sums->probes[0].buckets[b];
    fail();
    return 0;
}

/* Each bucket is at most so much wider than the one before: a quantile is no more off than that. */
TEST(bounds_are_as_close_as_is_told) {
    static const double widest[] = {[SPEX_SUMS_COARSE] = 2.5, [SPEX_SUMS_FINE] = 1.28};
    static const unsigned decades[] = {SPEX_SUMS_COARSE, SPEX_SUMS_FINE};
    for (size_t d = 0; d < 2; d++) {
        double before = spex_sums_bounds[0];
        unsigned count = 0;
        for (size_t b = 0; b < SPEX_SUMS_BOUNDS; b++) {
            if (!spex_sums_bound_is_of(b, decades[d]))
                continue;
            assert_true(spex_sums_bounds[b] <= before * widest[decades[d]] * (1 + 1e-12));
            before = spex_sums_bounds[b];
            count++;
        }
        assert_int_equal(count, 10 * decades[d] + 1);
        assert_true(before == 100);
    }
}

TEST(buckets_hold_the_times_up_to_their_bounds) {
    static struct made made;
    struct spex_sums sums = {.probes = NULL};
    make(&made, "query");
    add_times(&made, 1500, 10);
    add_times(&made, 3000000, 5);
    add_times(&made, 200000000000, 1);
    assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
    assert_true(bucket(&sums, "1e-06") == 0);
    assert_true(bucket(&sums, "2e-06") == 10);
    assert_true(bucket(&sums, "0.002") == 10);
    assert_true(bucket(&sums, "0.005") == 15);
    assert_true(bucket(&sums, "100.0") == 15);
    assert_true(sums.probes[0].buckets[SPEX_SUMS_BOUNDS] == 16);
    assert_float_equal(sums.probes[0].sum[0], 200.015015, 1e-6);
    spex_sums_free(&sums);
}

/* Of schema 3: bucket number i ends at 2 to the power of i/8 seconds. */
TEST(native_buckets_hold_the_times_between_their_bounds) {
    static const uint64_t times[] = {0, 1, 10, 1500, 3000000, 200000000000, 2000000000000};
    for (size_t t = 0; t < COUNT_OF(times); t++) {
        static struct made made;
        struct spex_sums sums = {.probes = NULL};
        make(&made, "query");
        add_times(&made, times[t], 3);
        assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
        double seconds = (double)times[t] / 1e9;
        for (int b = 0; b < SPEX_SUMS_NATIVES; b++) {
            double above = b ? exp2((SPEX_SUMS_NATIVE_FIRST + b - 2) / 8.0) : -1;
            double most = exp2((SPEX_SUMS_NATIVE_FIRST + b - 1) / 8.0);
            bool last = b == SPEX_SUMS_NATIVES - 1;
            /* A time stands for the middle of its bucket of spex's own histogram. */
            bool in = seconds * 1.008 > above && (seconds / 1.008 <= most || last);
            assert_true(sums.probes[0].natives[b] == 0 || (sums.probes[0].natives[b] == 3 && in));
        }
        double all = 0;
        for (int b = 0; b < SPEX_SUMS_NATIVES; b++)
            all += sums.probes[0].natives[b];
        assert_true(all == 3);
        spex_sums_free(&sums);
    }
    assert_true(exp2((SPEX_SUMS_NATIVE_FIRST - 1) / 8.0) == SPEX_SUMS_ZERO);
}

/* As in the table: what the clock takes is taken off. */
TEST(times_are_corrected_as_figures_are) {
    static struct made made;
    struct spex_sums sums = {.probes = NULL};
    struct spex_figures figures;
    make(&made, "query");
    made.type.measured = 1;
    made.type.empty = 20;
    add_times(&made, 110, 4);
    assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
    assert_true(bucket(&sums, "1e-07") == 4);
    assert_true(bucket(&sums, "5e-08") == 0);
    spex_figures_of(&made.profile, &made.row, 0, &figures);
    assert_float_equal(sums.probes[0].sum[0], 4 * figures.mean / 1e9, 1e-15);
    spex_sums_free(&sums);
}

TEST(times_wait_for_the_length_of_a_tick) {
    static struct made made;
    struct spex_sums sums = {.probes = NULL};
    make(&made, "query");
    add_times(&made, 110, 4);
    made.profile.process.ticks_per_second = 0;
    assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
    assert_int_equal(sums.probes[0].series, 0);
    spex_sums_free(&sums);
}

TEST(processes_of_a_program_are_added) {
    static struct made one, other;
    struct spex_sums a = {.probes = NULL}, b = a, all = a;
    make(&one, "query");
    make(&other, "query");
    add_times(&one, 1500, 10);
    add_times(&other, 1500, 5);
    one.row.probe.period = 8;
    one.row.probe.uncounted = 3;
    other.row.probe.period = 0;
    other.row.probe.uncounted = 4;
    /* The same probe may have another number in another process. */
    other.row.probe.probe_id = 77;
    other.row.probe.declared = SPEX_PROFILE_NO_ID;
    assert_int_equal(sums_of(&a, &one.profile, 10), 0);
    assert_int_equal(sums_of(&b, &other.profile, 10), 0);
    assert_int_equal(spex_sums_add(&all, &a, 10, true), 0);
    assert_int_equal(spex_sums_add(&all, &b, 10, true), 0);
    assert_int_equal(all.count, 1);
    assert_true(bucket(&all, "2e-06") == 15);
    assert_int_equal(all.probes[0].period, 8);
    assert_true(all.probes[0].margin == 7);
    assert_int_equal(all.sites, 2);
    /* A process that has gone leaves counters, and nothing of the present. */
    spex_sums_free(&all);
    assert_int_equal(spex_sums_add(&all, &a, 10, false), 0);
    assert_true(bucket(&all, "2e-06") == 10);
    assert_int_equal(all.probes[0].period, 0);
    assert_int_equal(all.sites, 0);
    spex_sums_free(&a);
    spex_sums_free(&b);
    spex_sums_free(&all);
}

/* As the table has it with "≥", not an estimate in which nobody trusts. */
TEST(a_count_that_is_a_bound) {
    static struct made made;
    struct spex_sums sums = {.probes = NULL};
    make(&made, "query");
    made.row.probe.count = 100;
    made.row.probe.count_variance = 625;
    made.row.probe.held_count = 10;
    made.row.probe.held_seconds = 1;
    made.row.probe.uncounted = 1000;
    assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
    assert_true(fabs(sums.probes[0].counts[SPEX_SUMS_EXECUTIONS] - 61) < 0.01);
    assert_true(sums.probes[0].margin > sums.probes[0].counts[SPEX_SUMS_EXECUTIONS]);
    spex_sums_free(&sums);
}

/* A correction that grows moves times to lower buckets; estimates of losses may fall. */
TEST(counters_that_were_shown_do_not_fall) {
    static struct made made;
    struct spex_sums now = {.probes = NULL}, shown = now;
    make(&made, "query");
    add_times(&made, 110, 4);
    made.row.probe.lost = 9;
    assert_int_equal(sums_of(&now, &made.profile, 10), 0);
    assert_int_equal(spex_sums_raise(&shown, &now, 10), 0);
    made.type.measured = 1;
    made.type.empty = 20;
    made.row.probe.lost = 3;
    made.row.probe.period = 0;
    made.row.probe.count = 3; /* it was too much, and is so for ever */
    made.row.probe.uncounted = 0.5;
    assert_int_equal(sums_of(&now, &made.profile, 10), 0);
    assert_int_equal(spex_sums_raise(&shown, &now, 10), 0);
    assert_true(shown.probes[0].counts[SPEX_SUMS_LOST] == 9);
    assert_true(shown.probes[0].counts[SPEX_SUMS_EXECUTIONS] == 4);
    assert_true(shown.probes[0].margin == 1.5);
    assert_true(bucket(&shown, "1e-07") == 4);
    assert_true(shown.probes[0].buckets[SPEX_SUMS_BOUNDS] == 4);
    assert_int_equal(shown.probes[0].period, 0);
    spex_sums_free(&now);
    assert_int_equal(spex_sums_raise(&shown, &now, 10), 0);
    assert_true(bucket(&shown, "1e-07") == 4);
    spex_sums_free(&shown);
}

TEST(probes_beyond_the_limit_are_counted) {
    static struct made one, other;
    struct spex_sums a = {.probes = NULL}, b = a, all = a;
    make(&one, "a");
    make(&other, "b");
    assert_int_equal(sums_of(&a, &one.profile, 10), 0);
    assert_int_equal(sums_of(&b, &other.profile, 10), 0);
    assert_int_equal(spex_sums_add(&all, &b, 1, true), 0);
    assert_int_equal(spex_sums_add(&all, &a, 1, true), 0);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.probes[0].name, "b");
    assert_int_equal(all.left_out, 1);
    assert_int_equal(sums_of(&a, &one.profile, 0), 0);
    assert_int_equal(a.left_out, 1);
    spex_sums_free(&a);
    spex_sums_free(&b);
    spex_sums_free(&all);
}

/* The text of one program with one probe. Free it. */
static char *text_in(const char *program, struct made *made, bool open, unsigned buckets) {
    struct spex_sums sums = {.probes = NULL};
    const struct spex_metrics_server server = {.refused = 2, .buckets = buckets};
    const struct spex_metrics_program list = {program, &sums, 1, 0};
    char *text;
    size_t bytes;
    assert_int_equal(sums_of(&sums, &made->profile, 10), 0);
    FILE *out = open_memstream(&text, &bytes);
    spex_metrics_write(out, open ? SPEX_METRICS_OPEN : SPEX_METRICS_TEXT, &list, 1, &server);
    fclose(out);
    spex_sums_free(&sums);
    return text;
}

static char *text_of(const char *program, struct made *made, bool open) {
    return text_in(program, made, open, SPEX_SUMS_COARSE);
}

static void assert_has(const char *text, const char *line) {
    if (!strstr(text, line))
        fail_msg("no \"%s\" in:\n%s", line, text);
}

/* Replaces `text` by that of all metrics of one program. */
static void write_text(char **text, const struct spex_sums *sums) {
    const struct spex_metrics_server server = {.buckets = SPEX_SUMS_COARSE};
    const struct spex_metrics_program list = {"nginx", sums, 1, 0};
    size_t bytes;
    free(*text);
    FILE *out = open_memstream(text, &bytes);
    spex_metrics_write(out, SPEX_METRICS_OPEN, &list, 1, &server);
    fclose(out);
}

TEST(quantiles_are_those_of_figures) {
    static struct made made, recent;
    struct spex_sums sums = {.probes = NULL};
    struct spex_figures figures;
    char *text = NULL, line[160];
    make(&made, "query");
    make(&recent, "query");
    add_times(&made, 900000, 1000);
    add_times(&recent, 1500, 900);
    add_times(&recent, 64000, 100);
    recent.values.min = 1500;
    recent.values.max = 64000;
    assert_int_equal(sums_of(&sums, &made.profile, 10), 0);
    spex_sums_quantiles(&sums, &recent.profile);
    spex_figures_of(&recent.profile, &recent.row, 0, &figures);
    const struct spex_sums_quantile *quantiles = sums.probes[0].quantiles;
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++) {
        assert_float_equal(quantiles[q].value * 1e9, figures.quantiles[q].value, 1e-6);
        assert_float_equal(quantiles[q].low * 1e9, figures.quantiles[q].low, 1e-6);
        assert_float_equal(quantiles[q].high * 1e9, figures.quantiles[q].high, 1e-6);
        assert_true(quantiles[q].told == figures.quantiles[q].told);
    }
    write_text(&text, &sums);
    snprintf(line, sizeof(line),
             "\nspex_probe_recent_duration_seconds{program=\"nginx\",probe=\"query\",type=\"lat\","
             "quantile=\"0.5\"} %.15g\n",
             quantiles[0].value);
    assert_has(text, "\n# TYPE spex_probe_recent_duration_seconds summary\n"
                     "# UNIT spex_probe_recent_duration_seconds seconds\n");
    assert_has(text, line);
    /* Without an interval the value alone is told. */
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++)
        sums.probes[0].quantiles[q].told = false;
    write_text(&text, &sums);
    assert_null(strstr(text, "recent_duration_low"));
    spex_sums_quantiles(&sums, NULL);
    write_text(&text, &sums);
    assert_null(strstr(text, "recent"));
    free(text);
    spex_sums_free(&sums);
}

TEST(formats_differ_in_names_and_the_end) {
    static struct made made;
    make(&made, "query");
    add_times(&made, 1500, 10);
    made.row.probe.uncounted = 0.25;
    char *text = text_of("nginx", &made, true), *plain = text_of("nginx", &made, false);
    assert_has(text, "\n# TYPE spex_probe_executions counter\n"
                     "spex_probe_executions_total{program=\"nginx\",probe=\"query\",type=\"lat\"} "
                     "10\n");
    assert_has(text, "\n# TYPE spex_probe_executions_margin gauge\n"
                     "spex_probe_executions_margin{program=\"nginx\",probe=\"query\",type=\"lat\"} "
                     "0.25\n");
    assert_has(text, "\n# UNIT spex_probe_duration_seconds seconds\n");
    assert_has(text, "spex_probe_duration_seconds_bucket{program=\"nginx\",probe=\"query\","
                     "type=\"lat\",le=\"1.0\"} 10\n");
    assert_has(text, "type=\"lat\",le=\"+Inf\"} 10\n");
    assert_has(text, "spex_serve_refused_requests_total 2\n");
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    assert_has(plain, "\n# TYPE spex_probe_executions_total counter\n");
    assert_null(strstr(plain, "# UNIT"));
    assert_null(strstr(plain, "# EOF"));
    free(text);
    free(plain);
}

/* Nobody counts what is executed at a site that was refused. */
TEST(a_margin_may_be_infinite) {
    static struct made made;
    make(&made, "query");
    made.row.probe.refused = 1;
    for (unsigned open = 0; open < 2; open++) {
        char *text = text_of("nginx", &made, open);
        assert_has(text, "spex_probe_executions_margin{program=\"nginx\",probe=\"query\","
                         "type=\"lat\"} +Inf\n");
        free(text);
    }
}

/* The texts are the bounds themselves, and those of the coarse buckets are among the fine ones. */
TEST(buckets_are_as_many_as_asked_for) {
    static struct made made;
    make(&made, "query");
    add_times(&made, 1500, 10);
    for (unsigned fine = 0; fine < 2; fine++) {
        unsigned per_decade = fine ? SPEX_SUMS_FINE : SPEX_SUMS_COARSE, lines = 0;
        char *text = text_in("nginx", &made, false, per_decade);
        size_t b = 0;
        for (const char *at = text; (at = strstr(at, "le=\"")); at++, lines++, b++) {
            while (b < SPEX_SUMS_BOUNDS && !spex_sums_bound_is_of(b, per_decade))
                b++;
            if (b < SPEX_SUMS_BOUNDS)
                assert_true(strtod(at + strlen("le=\""), NULL) == spex_sums_bounds[b]);
        }
        assert_int_equal(lines, 10 * per_decade + 2);
        assert_int_equal(strstr(text, "le=\"1.6e-06\"} 10\n") != NULL, fine);
        assert_has(text, "le=\"1e-06\"} 0\n");
        assert_has(text, "le=\"2e-06\"} 10\n");
        free(text);
    }
}

/* In the bucket that the time falls in, as it is corrected there. */
TEST(the_slowest_execution_is_an_exemplar) {
    static struct made made;
    make(&made, "query");
    add_times(&made, 3000000, 5);
    made.type.measured = 1;
    made.type.empty = 500;
    made.row.probe.slowest = (struct spex_profile_slowest){.ticks = 3000500,
                                                           .realtime_ns = 1700000000250000000,
                                                           .thread_id = 43,
                                                           .cpu_id = 3,
                                                           .process_id = 42};
    char *text = text_of("p", &made, true), *plain = text_of("p", &made, false);
    assert_has(text, "le=\"0.002\"} 0\n");
    assert_has(text, "le=\"0.005\"} 5 # {pid=\"42\",thread=\"43\",cpu=\"3\"} 0.003 "
                     "1700000000.250\n");
    assert_has(text, "le=\"0.01\"} 5\n");
    assert_null(strstr(plain, "thread="));
    free(text);
    free(plain);
    made.row.probe.slowest.ticks = UINT64_MAX;
    text = text_of("p", &made, true);
    assert_has(text, "le=\"+Inf\"} 5 # {pid=");
    free(text);
    made.row.probe.slowest.ticks = 0;
    text = text_of("p", &made, true);
    assert_null(strstr(text, " # {"));
    free(text);
    made.row.probe.slowest.ticks = UINT64_MAX;
    made.profile.process.ticks_per_second = 1e-300;
    text = text_of("p", &made, true);
    assert_null(strstr(text, " # {"));
    free(text);
}

/* Of processes that answer; that of one that has gone is not told. */
TEST(the_slowest_process_wins) {
    static struct made one, other;
    struct spex_sums a = {.probes = NULL}, b = a, all = a, shown = a;
    make(&one, "query");
    make(&other, "query");
    one.row.probe.slowest = (struct spex_profile_slowest){.ticks = 900, .process_id = 1};
    other.row.probe.slowest = (struct spex_profile_slowest){.ticks = 700, .process_id = 2};
    assert_int_equal(sums_of(&a, &one.profile, 10), 0);
    assert_int_equal(sums_of(&b, &other.profile, 10), 0);
    assert_int_equal(spex_sums_add(&all, &a, 10, true), 0);
    assert_int_equal(spex_sums_add(&all, &b, 10, true), 0);
    assert_int_equal(all.probes[0].slowest.process_id, 1);
    assert_int_equal(spex_sums_raise(&shown, &all, 10), 0);
    assert_int_equal(shown.probes[0].slowest.process_id, 1);
    spex_sums_free(&all);
    assert_int_equal(spex_sums_add(&all, &a, 10, false), 0);
    assert_int_equal(spex_sums_add(&all, &b, 10, true), 0);
    assert_int_equal(spex_sums_raise(&shown, &all, 10), 0);
    assert_int_equal(shown.probes[0].slowest.process_id, 2);
    spex_sums_free(&a);
    spex_sums_free(&b);
    spex_sums_free(&all);
    spex_sums_free(&shown);
}

/* A name may hold what has a meaning in the format. */
TEST(labels_are_escaped) {
    static struct made made;
    make(&made, "a\"} 1\n\\");
    char *text = text_of("x\"y", &made, true);
    assert_has(text,
               "spex_probe_period{program=\"x\\\"y\",probe=\"a\\\"} 1\\n\\\\\",type=\"lat\"} 1\n");
    free(text);
}

TEST(values_that_are_no_times_have_sums) {
    static struct made made;
    make(&made, "");
    made.row.probe.probe_type = made.type.probe_type = SPEX_SNAPSHOT;
    add_times(&made, 7, 3);
    char *text = text_of("p", &made, true);
    assert_has(text, "spex_probe_value_sum{program=\"p\",probe=\"3\",type=\"snapshot\","
                     "value=\"v0\"} 21\n");
    assert_has(text, "value=\"v0\"} 3\n");
    assert_null(strstr(text, "_bucket"));
    free(text);
}

/* As the macro's arguments are written; what programs name differently has numbers. */
TEST(values_have_the_names_of_a_snapshot) {
    static struct made made;
    static struct spex_profile_site site = {
        .probe_type = SPEX_SNAPSHOT, .probe_id = 3, .parameters = "of(\"x\", 1), depth"};
    make(&made, "");
    made.row.probe.probe_type = made.type.probe_type = SPEX_SNAPSHOT;
    made.profile.sites = &site;
    made.profile.site_count = 1;
    add_times(&made, 7, 3);
    char *text = text_of("p", &made, true);
    assert_has(text, "type=\"snapshot\",value=\"of(\\\"x\\\", 1)\"} 21\n");
    free(text);
    static const struct spex_sums_probe one = {.type = SPEX_SNAPSHOT, .series = 2, .names = "a,b"},
                                        other = {.type = SPEX_SNAPSHOT, .series = 2, .names = "a"};
    struct spex_sums sums = {.probes = NULL};
    for (int added = 0; added < 3; added++) {
        struct spex_sums_probe probe = added < 2 ? one : other;
        const struct spex_sums from = {.probes = &probe, .count = 1, .room = 1};
        assert_int_equal(spex_sums_add(&sums, &from, 4, true), 0);
        assert_string_equal(sums.probes[0].names, added < 2 ? "a,b" : "");
    }
    spex_sums_free(&sums);
}

TEST(who_asks_gets_the_format_that_he_likes_best) {
    assert_int_equal(spex_metrics_format_for(NULL), SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for(""), SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for("*/*"), SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for("text/plain;version=0.0.4"), SPEX_METRICS_TEXT);
    assert_int_equal(
        spex_metrics_format_for(
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
            "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
        SPEX_METRICS_OPEN);
    assert_int_equal(spex_metrics_format_for("text/plain; q=0.5, Application/OpenMetrics-Text"),
                     SPEX_METRICS_OPEN);
    assert_int_equal(spex_metrics_format_for("application/openmetrics-text;q=0"),
                     SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for("text/plain, application/openmetrics-text; q=0.9"),
                     SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for(",,;;q=,"), SPEX_METRICS_TEXT);
    assert_int_equal(spex_metrics_format_for("application/openmetrics-text;q="), SPEX_METRICS_TEXT);
    static const char protobuf[] =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=%s%s";
    static const struct {
        const char *encoding, *others;
        enum spex_metrics_format format;
    } cases[] = {
        {"delimited", "", SPEX_METRICS_PROTOBUF},
        {"delimited", ",application/openmetrics-text;q=0.8,text/plain;q=0.5",
         SPEX_METRICS_PROTOBUF},
        {"delimited;q=0.4", ",application/openmetrics-text;q=0.8", SPEX_METRICS_OPEN},
        {"text", ",text/plain;q=0.5", SPEX_METRICS_TEXT},
        {"delimited;q=0", "", SPEX_METRICS_TEXT},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char accept[256];
        snprintf(accept, sizeof(accept), protobuf, cases[c].encoding, cases[c].others);
        assert_int_equal(spex_metrics_format_for(accept), cases[c].format);
    }
}
