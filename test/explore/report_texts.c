/* SPDX-License-Identifier: MIT */
/* Whole texts of reports, as people read them, of stores that have something of everything: lists
 * that are cut, limits, ties, losses, reasons, notes. What is expected stands in expected/; what
 * was written instead is left in the file that a failure names. */
#include <errno.h>
#include <math.h>

#include "../comma_locale.h"
#include "expected_text.h"
#include "report_bench.h"

#define TWO_OBJECTIVES                                                                             \
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"                               \
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"                                      \
    "<limit probe='q:lat' metric='max' at_most='20ms'/>"

/* Throughput grows with threads up to 3, with the cache where it is private, and falls a little
 * with the page size; latency grows with the throughput, so that many are on the front. */
static const char many[] =
    "<space name='many'><parameter name='threads' type='integer' min='1' max='4'/>"
    "<parameter name='cache' type='integer' unit='MB' values='2 16'/>"
    "<parameter name='mode' type='categorical' values='shared private'/>"
    "<parameter name='page' type='integer' unit='B' values='4096 65536'/>" TWO_OBJECTIVES
    "<run trials_per_config='2' threads='threads'/></space>";

static const char few[] =
    "<space name='few &lt;1&gt;'><parameter name='threads' type='integer' min='1' max='3'/>"
    "<parameter name='mode' type='categorical' values='shared private'/>" TWO_OBJECTIVES
    "<run trials_per_config='2' threads='threads'/></space>";

struct outcome {
    double throughput, p99, max;
    const char *reason, *note;
    uint64_t lost;
    bool steady;
};

static void put(struct making *making, const size_t *levels, struct outcome outcome) {
    const double values[] = {outcome.throughput, outcome.p99, outcome.max};
    struct spex_trial_metric metrics[] = {
        {.probe_id = 7,
         .id = 7,
         .probe_type = SPEX_LAT,
         .name = (char *)(uintptr_t) "q",
         .records = 1000,
         .count = 1000,
         .rate = outcome.throughput,
         .mean = outcome.p99 / 4,
         .deviation = NAN,
         .min = NAN,
         .p50 = outcome.p99 / 5,
         .p90 = NAN,
         .p99 = outcome.p99,
         .max = 0.5},
    };
    struct spex_trial trial;
    struct spex_error why = {""};
    assert_int_equal(spex_trial_init(&trial, &making->file->space, levels), 0);
    trial.ok = !outcome.reason;
    trial.status = (char *)(uintptr_t)(outcome.reason ? outcome.reason : "ok");
    for (size_t c = 0; c < 3 && trial.ok; c++)
        trial.measured[c] = (struct spex_measured){.value = values[c], .error = values[c] / 100};
    trial.records_used = 1000;
    trial.records_lost = outcome.lost;
    trial.seconds = 1.5;
    trial.steady = outcome.steady;
    trial.note = (char *)(uintptr_t)outcome.note;
    trial.metrics = metrics;
    trial.metric_count = trial.ok;
    must(spex_store_put(making->store, ++making->number, &making->file->space, &trial, NULL, 0,
                        &why),
         &why);
    trial.status = trial.note = NULL;
    trial.metrics = NULL;
    trial.metric_count = 0;
    spex_trial_free(&trial);
}

/* What two of the configurations gain. */
static double gain_of_two = 1;

/* Two trials of every configuration, in which single trials differ by 2 %; then failures. `by`:
 * what private configurations gain. */
static void make_many(const char *path, double by) {
    struct making making;
    begin(&making, path, many);
    for (int t = 0; t < 2; t++)
        for (size_t c = 0; c < 32; c++) {
            const size_t levels[] = {c / 8, c / 4 % 2, c / 2 % 2, c % 2};
            double threads = levels[0] < 2 ? (double)levels[0] + 1 : 3;
            double wobble = (c * 7 + (size_t)t * 13) % 5 * 0.005 + 0.99;
            double throughput = 1000 * threads * (levels[1] && levels[2] ? 1.5 : 1) *
                                (levels[2] ? by : 1) * (levels[3] ? 0.995 : 1) * wobble *
                                (c == 9 || c == 22 ? gain_of_two : 1);
            put(&making, levels,
                (struct outcome){.throughput = throughput,
                                 .p99 = 1e-9 * throughput * throughput * (levels[0] == 3 ? 2 : 1),
                                 .max = levels[0] == 3 && levels[1] ? 0.03 : 0.01,
                                 .lost = c == 5 ? 3000 : 0,
                                 .steady = c != 7});
        }
    for (size_t f = 0; f < 12; f++) {
        char reason[32];
        snprintf(reason, sizeof(reason), "reason %zu", f);
        for (size_t times = 0; times <= f; times++)
            put(&making, (size_t[]){0, 0, 0, 0}, (struct outcome){.reason = reason});
    }
    put(&making, (size_t[]){1, 1, 1, 1},
        (struct outcome){2990, 0.009, 0.01, .note = "still mounted", .steady = true});
    end(&making);
}

static void make_few(const char *path, double max) {
    struct making making;
    begin(&making, path, few);
    for (int t = 0; t < 2; t++)
        for (size_t c = 0; c < 6; c++) {
            double throughput = (c == 5 ? 1300 : 400 + 200 * (double)c) * (t ? 1.002 : 0.998);
            put(&making, (size_t[]){c / 2, c % 2},
                (struct outcome){.throughput = throughput,
                                 .p99 = 1e-5 * throughput,
                                 .max = max,
                                 .steady = true});
        }
    put(&making, (size_t[]){0, 0}, (struct outcome){.reason = "<no> \"luck\""});
    end(&making);
}

TEST(report_of_many) {
    make_many("many.db", 1.2);
    struct spex_report_options options = report_of("many.db");
    char *text = written(&options, &options.text);
    /* What a model of the space says is not the same to the last digit on every processor. */
    char *effects = strstr(text, "\neffects on the first objective"),
         *path = strstr(text, "\nbest so far\n");
    assert_true(effects && path);
    memmove(effects, path, strlen(path) + 1);
    expect_file("report.txt", text);
    free(text);
}

/* Private configurations lose what they had gained; then, of another space. */
TEST(reports_of_two_stores) {
    make_many("a.db", 1.2);
    make_many("b.db", 1);
    struct spex_report_options options = report_of("a.db");
    options.other = "b.db";
    char *text = written(&options, &options.text);
    expect_file("two.txt", text);
    free(text);
    make_few("b.db", 0.01);
    text = written(&options, &options.text);
    expect_file("different.txt", text);
    free(text);
}

/* Those that changed otherwise than the others are listed, and no others. */
TEST(a_report_of_stores_of_which_two_differ) {
    make_many("a.db", 1.2);
    gain_of_two = 1.4;
    make_many("b.db", 1.2);
    gain_of_two = 1;
    struct spex_report_options options = report_of("a.db");
    options.other = "b.db";
    char *text = written(&options, &options.text);
    expect_file("two-alone.txt", text);
    free(text);
}

/* In what they differ is told, one below the other. */
TEST(reports_of_stores_of_two_machines) {
    strcpy(kernel, "6.1");
    make_few("a.db", 0.01);
    strcpy(kernel, "6.2");
    make_few("b.db", 0.01);
    strcpy(kernel, "k");
    struct spex_report_options options = report_of("a.db");
    options.other = "b.db";
    char *text = written(&options, &options.text);
    assert_non_null(strstr(text, "\nmachine    another kernel: A 6.1\n"
                                 "                           B 6.2\ntrials "));
    free(text);
}

TEST(nobody_keeps_the_limit) {
    make_few("few.db", 0.05);
    struct spex_report_options options = report_of("few.db");
    char *text = written(&options, &options.text);
    expect_file("limit.txt", text);
    free(text);
}

TEST(explanations) {
    static const struct {
        const char *a, *b, *name;
        bool all;
    } cases[] = {
        {"threads=1,cache=2,mode=private,page=4096", "threads=1,cache=16,mode=private,page=4096",
         "explained.txt", true},
        {"#1", "best", "explained-best.txt", false},
    };
    make_many("many.db", 1.2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = NULL;
        size_t size;
        struct spex_explain_options options = {.size = sizeof(options),
                                               .store = "many.db",
                                               .a = cases[i].a,
                                               .b = cases[i].b,
                                               .all = cases[i].all,
                                               .text = open_memstream(&text, &size)};
        if (spex_explain(&options, why_text, sizeof(why_text)))
            fail_msg("%s", why_text);
        fclose(options.text);
        expect_file(cases[i].name, text);
        free(text);
    }
}

/* ---- pages ---- */

/* The page without its pictures. */
static char *page_of(const char *store) {
    struct spex_report_options options = report_of(store);
    options.html = "page.html";
    int err = spex_report(&options, why_text, sizeof(why_text));
    if (err == -ENOENT)
        skip();
    assert_int_equal(err, 0);
    FILE *file = fopen("page.html", "re");
    assert_non_null(file);
    char *text = calloc(1, 1 << 23), *to = text;
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 23) - 1, file) > 1000);
    fclose(file);
    for (char *from = text; *from;) {
        char *svg_end = strncmp(from, "<svg", 4) == 0 ? strstr(from, "</svg>") : NULL;
        if (svg_end)
            from = svg_end + strlen("</svg>");
        else
            *to++ = *from++;
    }
    *to = '\0';
    return text;
}

TEST(a_page) {
    make_few("few.db", 0.01);
    char *text = page_of("few.db");
    expect_file("page.html", text);
    free(text);
}

/* A limit that no configuration keeps, with what the best has of it; and trials without a result. */
TEST(a_page_says_what_is_missing) {
    struct making making;
    make_few("few.db", 0.05);
    char *text = page_of("few.db");
    assert_non_null(strstr(text, "No configuration keeps the limits: all are compared as if"));
    assert_non_null(strstr(text, "<td>limit</td><td>max of q:lat at most 20 ms</td>"
                                 "<td class=\"n\">50 ms</td>"));
    free(text);
    begin(&making, "failed.db", few);
    put(&making, (size_t[]){1, 1}, (struct outcome){.reason = "no luck"});
    end(&making);
    text = page_of("failed.db");
    assert_non_null(strstr(text, "<b>No trial has a result.</b>"));
    assert_non_null(strstr(text, "<h2>1 trials failed</h2>"));
    assert_non_null(strstr(text, "<td class=\"n\">1</td><td>no luck</td>"));
    assert_non_null(strstr(text, "<tr><th>records</th><td>1000 used, 0 lost</td></tr>"));
    free(text);
}

static size_t times_in(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

/* 200 configurations are listed; of more, how many there are is said. */
TEST(a_page_of_many) {
    for (size_t count = 200; count <= 201; count++) {
        struct making making;
        char xml[512];
        snprintf(xml, sizeof(xml),
                 "<space name='s'><parameter name='a' type='integer' min='1' max='%zu'/>"
                 "<objective probe='q:lat' metric='p99' goal='minimise'/></space>",
                 count);
        begin(&making, "pages.db", xml);
        for (size_t a = 0; a < count; a++) {
            struct spex_trial trial;
            struct spex_error why = {""};
            assert_int_equal(spex_trial_init(&trial, &making.file->space, &a), 0);
            trial.ok = true;
            trial.status = (char *)(uintptr_t) "ok";
            trial.measured[0] = (struct spex_measured){.value = 1 + (double)a, .error = NAN};
            must(spex_store_put(making.store, a + 1, &making.file->space, &trial, NULL, 0, &why),
                 &why);
            trial.status = NULL;
            spex_trial_free(&trial);
        }
        end(&making);
        char *text = page_of("pages.db");
        const char *table = strstr(text, "<h2>Configurations, the best first</h2>");
        assert_non_null(table);
        assert_int_equal(times_in(table, "<tr><td class=\"n\">") +
                             times_in(table, "<tr class=\"first\"><td class=\"n\">"),
                         200);
        assert_int_equal(times_in(table, "and 1 more</p>"), count == 201);
        assert_int_equal(times_in(table, " more</p>"), count == 201);
        free(text);
    }
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
