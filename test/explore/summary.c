/* SPDX-License-Identifier: MIT */
/* Trials put together: mean and spread of each configuration, the best, and from
 * where on more threads stop helping. */
#include <math.h>

#include "explore/space/space_criterion.h"
#include "measure/summary.h"
#include "spaces.h"

/* threads: 1 2 4 8; cache: 16 32 MB; mode: a b */
#define SPACE(goal)                                                                                \
    "<space name='s'><parameter name='threads' type='integer' min='1' max='8' factor='2'/>"        \
    "<parameter name='cache' type='integer' unit='MB' values='16 32'/>"                            \
    "<parameter name='mode' type='categorical' values='a b'/>"                                     \
    "<objective probe='q:tpt' metric='throughput' goal='" goal "'/><run threads='threads'/>"       \
    "</space>"

enum { THREADS, CACHE, MODE, PARAMETERS };

struct bench {
    struct spex_space_file *file;
    struct spex_summary summary;
};

static void begin(struct bench *bench, const char *xml) {
    bench->file = space_of(xml);
    spex_summary_init(&bench->summary, &bench->file->space);
}

static void end(struct bench *bench) {
    spex_summary_free(&bench->summary);
    spex_space_free(bench->file);
}

/* A trial with this result; NAN stands for one that failed. */
static void add(struct bench *bench, size_t threads, size_t cache, size_t mode, double objective) {
    size_t levels[PARAMETERS] = {threads, cache, mode};
    struct spex_measured measured = {.value = objective, .error = NAN};
    struct spex_trial trial = {.levels = levels,
                               .ok = !isnan(objective),
                               .measured = &measured,
                               .records_used = 100,
                               .records_lost = 3,
                               .seconds = 0.5};
    assert_int_equal(spex_summary_add(&bench->summary, &trial), 0);
}

static const struct spex_group *find(const struct bench *bench, size_t threads, size_t cache,
                                     size_t mode) {
    return spex_summary_find(&bench->summary, (size_t[]){threads, cache, mode});
}

static void expect_levels(const struct spex_group *group, size_t threads, size_t cache,
                          size_t mode) {
    assert_non_null(group);
    assert_int_equal(group->levels[THREADS], threads);
    assert_int_equal(group->levels[CACHE], cache);
    assert_int_equal(group->levels[MODE], mode);
}

TEST(nothing) {
    struct bench bench;
    begin(&bench, SPACE("maximise"));
    assert_null(find(&bench, 0, 0, 0));
    assert_null(spex_summary_best(&bench.summary, PARAMETERS, 0));
    assert_int_equal(spex_summary_knee(&bench.summary, PARAMETERS, 0), 4);
    end(&bench);
}

TEST(spread) {
    struct bench bench;
    begin(&bench, SPACE("maximise"));
    add(&bench, 1, 1, 0, 30);
    add(&bench, 0, 0, 0, 7);
    add(&bench, 1, 1, 0, 10);
    add(&bench, 1, 1, 0, NAN);
    add(&bench, 1, 1, 0, 35);
    const struct spex_group *group = find(&bench, 1, 1, 0);
    expect_levels(group, 1, 1, 0);
    assert_int_equal(group->trials, 3);
    assert_int_equal(group->failed, 1);
    assert_true(fabs(group->criteria[0].mean - 25) < 1e-12);
    assert_true(group->criteria[0].low == 10 && group->criteria[0].high == 35);
    assert_int_equal(group->records_used, 300);
    assert_int_equal(group->records_lost, 9);
    assert_true(group->seconds == 1.5);
    assert_int_equal(bench.summary.count, 2);
    assert_ptr_equal(group, &bench.summary.groups[0]); /* in the order of their first trials */
    assert_null(find(&bench, 1, 0, 1));
    end(&bench);
}

/* A configuration of which every trial failed is there, but is not the best. */
TEST(only_failures) {
    struct bench bench;
    begin(&bench, SPACE("minimise"));
    add(&bench, 2, 0, 0, NAN);
    assert_int_equal(find(&bench, 2, 0, 0)->failed, 1);
    assert_int_equal(find(&bench, 2, 0, 0)->trials, 0);
    assert_null(spex_summary_best(&bench.summary, PARAMETERS, 0));
    assert_int_equal(spex_summary_knee(&bench.summary, PARAMETERS, 0), 4);
    add(&bench, 3, 0, 1, 5);
    expect_levels(spex_summary_best(&bench.summary, PARAMETERS, 0), 3, 0, 1);
    end(&bench);
}

static void add_some(struct bench *bench) {
    add(bench, 0, 0, 0, 20);
    add(bench, 0, 1, 0, 50);
    add(bench, 1, 0, 0, 90);
    add(bench, 1, 0, 0, 10); /* mean 50, too */
    add(bench, 1, 1, 1, 60);
    add(bench, 2, 0, 1, 5);
    add(bench, 2, 1, 1, NAN);
    add(bench, 3, 1, 1, 40);
}

TEST(the_best) {
    struct bench bench;
    begin(&bench, SPACE("maximise"));
    add_some(&bench);
    const struct spex_summary *summary = &bench.summary;
    expect_levels(spex_summary_best(summary, PARAMETERS, 0), 1, 1, 1);
    expect_levels(spex_summary_best(summary, MODE, 0), 0, 1, 0); /* of two equals, the first */
    expect_levels(spex_summary_best(summary, THREADS, 2), 2, 0, 1);
    expect_levels(spex_summary_best_of(summary, THREADS, 1, MODE, 0), 1, 0, 0);
    expect_levels(spex_summary_best_of(summary, THREADS, 1, PARAMETERS, 0), 1, 1, 1);
    expect_levels(spex_summary_best_of(summary, PARAMETERS, 0, CACHE, 0), 1, 0, 0);
    assert_null(spex_summary_best_of(summary, THREADS, 2, CACHE, 1));
    assert_null(spex_summary_best_of(summary, THREADS, 3, MODE, 0));
    end(&bench);
}

TEST(minimise) {
    struct bench bench;
    begin(&bench, SPACE("minimise"));
    add_some(&bench);
    const struct spex_summary *summary = &bench.summary;
    expect_levels(spex_summary_best(summary, PARAMETERS, 0), 2, 0, 1);
    expect_levels(spex_summary_best(summary, CACHE, 1), 3, 1, 1);
    assert_true(spex_group_better(summary->space, find(&bench, 0, 0, 0), NULL));
    assert_true(spex_group_better(summary->space, find(&bench, 2, 0, 1), find(&bench, 0, 0, 0)));
    assert_false(spex_group_better(summary->space, find(&bench, 0, 0, 0), find(&bench, 2, 0, 1)));
    assert_false(spex_group_better(summary->space, find(&bench, 0, 0, 0), find(&bench, 0, 0, 0)));
    end(&bench);
}

#define MAX SPACE("maximise")
#define MIN SPACE("minimise")

TEST(knees) {
    static const struct {
        const char *what, *xml;
        double objectives[4]; /* of 1, 2, 4 and 8 threads; 0 for none, NAN for failed */
        size_t knee;
    } cases[] = {
        {"flat", MAX, {100, 100, 100, 100}, 0},
        {"rising", MAX, {100, 200, 400, 800}, 4},
        {"rising within the tolerance", MAX, {100, 101, 103, 104.9}, 0},
        {"creeping beyond it", MAX, {100, 103, 106, 109}, 2},
        {"saturating", MAX, {100, 190, 300, 310}, 2},
        {"a peak", MAX, {100, 300, 200, 150}, 1},
        {"a valley", MAX, {100, 50, 60, 200}, 4},
        {"falling", MAX, {100, 90, 80, 70}, 0},
        {"a missing peak", MAX, {100, 0, 200, 150}, 2},
        {"a failed peak", MAX, {100, NAN, 200, 150}, 2},
        {"only one", MAX, {0, 0, 50, 0}, 4},
        {"most missing", MAX, {0, 100, 0, 103}, 1},
        {"flat time", MIN, {100, 100, 100, 100}, 0},
        {"falling time", MIN, {800, 400, 200, 100}, 4},
        {"within the tolerance, time", MIN, {100, 99, 97, 95.1}, 0},
        {"saturating time", MIN, {100, 60, 40, 39}, 2},
        {"a best time between", MIN, {100, 40, 60, 90}, 1},
        {"rising time", MIN, {100, 110, 120, 130}, 0},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct bench bench;
        begin(&bench, cases[c].xml);
        bool least = bench.file->space.criteria[0].goal == SPEX_MINIMISE;
        for (size_t t = 0; t < 4; t++)
            if (cases[c].objectives[t] != 0) {
                double objective = cases[c].objectives[t];
                add(&bench, t, 0, 0, least ? objective * 2 : objective / 2); /* not the best */
                add(&bench, t, 1, 0, objective);
            }
        size_t knee = spex_summary_knee(&bench.summary, PARAMETERS, 0);
        if (knee != cases[c].knee)
            fail_msg("%s: %zu", cases[c].what, knee);
        end(&bench);
    }
}

/* The knee of one mode alone may be elsewhere. */
TEST(knee_of_a_level) {
    struct bench bench;
    begin(&bench, SPACE("maximise"));
    for (size_t t = 0; t < 4; t++) {
        add(&bench, t, 0, 0, (double)(1 << t));
        add(&bench, t, 0, 1, 0.9);
    }
    assert_int_equal(spex_summary_knee(&bench.summary, PARAMETERS, 0), 4);
    assert_int_equal(spex_summary_knee(&bench.summary, MODE, 0), 4);
    assert_int_equal(spex_summary_knee(&bench.summary, MODE, 1), 0);
    assert_int_equal(spex_summary_knee(&bench.summary, CACHE, 1), 4);
    end(&bench);
}

/* 40 * 50 * 10 configurations, each added twice in an order of its own. */
TEST(thousands) {
    enum { A = 40, B = 50, C = 10, TOTAL = A * B * C };
    struct bench bench;
    begin(&bench, "<space name='s'><parameter name='a' type='integer' min='1' max='40'/>"
                  "<parameter name='b' type='integer' min='1' max='50'/>"
                  "<parameter name='c' type='integer' min='1' max='10'/>"
                  "<objective probe='q:lat' metric='mean' goal='minimise'/></space>");
    for (size_t i = 0; i < 2 * TOTAL; i++) {
        size_t n = (i < TOTAL ? i * 7919 : i * 104729) % TOTAL;
        add(&bench, n % A, n / A % B, n / A / B, (double)n + (i < TOTAL ? 0.25 : -0.25));
    }
    assert_int_equal(bench.summary.count, TOTAL);
    for (size_t n = 0; n < TOTAL; n++) {
        const struct spex_group *group = find(&bench, n % A, n / A % B, n / A / B);
        expect_levels(group, n % A, n / A % B, n / A / B);
        assert_int_equal(group->trials, 2);
        assert_true(fabs(group->criteria[0].mean - (double)n) < 1e-9);
    }
    expect_levels(spex_summary_best(&bench.summary, 3, 0), 0, 0, 0);
    end(&bench);
}

TEST(levels_text) {
    static const char whole[] = "threads=8 cache=16 MB mode=b";
    struct bench bench;
    char text[64];
    begin(&bench, SPACE("maximise"));
    spex_levels_text(&bench.file->space, (size_t[]){3, 0, 1}, text, sizeof(text));
    assert_string_equal(text, whole);
    for (size_t size = 1; size <= sizeof(whole); size++) {
        char *exact = malloc(size); /* so that a sanitizer sees a byte too many */
        spex_levels_text(&bench.file->space, (size_t[]){3, 0, 1}, exact, size);
        assert_int_equal(strlen(exact), size - 1);
        assert_memory_equal(exact, whole, size - 1);
        free(exact);
    }
    end(&bench);
    const struct spex_space none = {.parameter_count = 0};
    spex_levels_text(&none, (size_t[]){0}, text, sizeof(text));
    assert_string_equal(text, "");
}

TEST(units) {
    static const struct {
        struct spex_criterion objective;
        const char *unit;
    } cases[] = {
        {{.probe = "q:tpt", .metric = "throughput"}, "/s"},
        {{.probe = "q:cnt", .metric = "throughput"}, "/s"},
        {{.probe = "q:lat", .metric = "p99"}, "s"},
        {{.probe = "q:tpt", .metric = "mean"}, "s"},
        {{.probe = "q:snapshot", .metric = "mean"}, ""},
        {{.probe = "q:llc@100", .metric = "mean"}, ""},
        {{.probe = "q:lat@100", .metric = "mean"}, "s"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        assert_string_equal(spex_criterion_unit(&cases[c].objective), cases[c].unit);
}
