/* SPDX-License-Identifier: MIT */
/* Whole reports as JSON, of stores that have something of everything, against what stands in
 * expected/; numbers may differ where rounding does. What was written instead is left in the file
 * that a failure names. */
#include <errno.h>
#include <math.h>

#include <jansson.h>

#include "explore/findings/explain.h"
#include "report_bench.h"

static const char whole[] =
    "<space name='whole'><parameter name='threads' type='integer' min='1' max='4'/>"
    "<parameter name='ratio' type='real' values='0.5 1.5'/>"
    "<parameter name='fast' type='boolean' default='true'/>"
    "<parameter name='page' type='integer' unit='KB' values='4 64' when='$fast'/>"
    "<parameter name='mode' type='categorical' values='x y&lt;z&gt;'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<limit probe='q:lat' metric='max' at_most='20ms'/>"
    "<run trials_per_config='2' threads='threads'/></space>";

/* The same configurations, in another order and with one value less. */
static const char turned[] =
    "<space name='turned'><parameter name='mode' type='categorical' values='y&lt;z&gt; x'/>"
    "<parameter name='fast' type='boolean' default='true'/>"
    "<parameter name='page' type='integer' unit='KB' values='4 64' when='$fast'/>"
    "<parameter name='ratio' type='real' values='0.5 1.5'/>"
    "<parameter name='threads' type='integer' min='1' max='3'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<limit probe='q:lat' metric='max' at_most='20ms'/>"
    "<run trials_per_config='2' threads='threads'/></space>";

/* A configuration by its values: levels of the space `whole`. */
struct configuration {
    size_t threads, ratio, fast, page, mode;
};

static struct spex_usage usage_of(double size) {
    return (struct spex_usage){.known = true,
                               .user_seconds = size / 1000,
                               .system_seconds = size / 4000,
                               .io_known = size > 600,
                               .max_rss_bytes = (uint64_t)(size * 1000),
                               .minor_faults = (uint64_t)size,
                               .read_bytes = size > 600 ? 4096 : 0};
}

/* A query's latencies, and what its cache holds. */
static void set_metrics(struct spex_trial *trial, struct spex_trial_metric *metrics, double tpt,
                        double p99) {
    static const struct spex_trial_metric none = {.rate = NAN,
                                                  .mean = NAN,
                                                  .deviation = NAN,
                                                  .min = NAN,
                                                  .p50 = NAN,
                                                  .p90 = NAN,
                                                  .p99 = NAN,
                                                  .max = NAN};
    metrics[0] = metrics[1] = metrics[2] = none;
    metrics[0].probe_id = metrics[0].id = 7;
    metrics[0].probe_type = SPEX_LAT;
    metrics[0].name = (char *)(uintptr_t) "q";
    metrics[0].rate = tpt;
    metrics[0].mean = p99 / 4;
    metrics[0].p50 = p99 / 5;
    metrics[0].p99 = p99;
    for (unsigned f = 0; f < 2; f++) {
        metrics[1 + f].probe_id = 8;
        metrics[1 + f].id = 30;
        metrics[1 + f].probe_type = SPEX_SNAPSHOT;
        metrics[1 + f].field = f;
        metrics[1 + f].rate = 2;
        metrics[1 + f].mean = f ? 100 : tpt / 10;
    }
    for (size_t m = 0; m < 3; m++)
        metrics[m].records = 100 + m, metrics[m].count = (double)(200 + m);
    trial->metrics = metrics;
    trial->metric_count = 3;
}

/* `b`: in the order of the space `turned`. Failed when there is a reason. */
static void put(struct making *making, bool b, struct configuration of, double tpt, double p99,
                const char *reason) {
    size_t in_a[] = {of.threads, of.ratio, of.fast, of.page, of.mode};
    size_t in_b[] = {1 - of.mode, of.fast, of.page, of.ratio, of.threads};
    const struct spex_space *space = &making->file->space;
    struct spex_trial_metric metrics[3];
    struct spex_trial trial;
    struct spex_error why = {""};
    assert_int_equal(spex_trial_init(&trial, space, b ? in_b : in_a), 0);
    assert_true(spex_space_settle(space, trial.levels));
    trial.ok = !reason;
    trial.status = (char *)(uintptr_t)(reason ? reason : "ok");
    trial.records_used = 1000;
    trial.records_lost = of.threads;
    trial.seconds = 1.5 + (double)of.ratio;
    trial.steady = of.mode == 0;
    trial.note = (char *)(uintptr_t)(of.threads == 2 ? "still \"mounted\"" : NULL);
    if (trial.ok) {
        trial.measured[0] = (struct spex_measured){.value = tpt, .error = tpt / 200};
        trial.measured[1] = (struct spex_measured){.value = p99, .error = NAN};
        trial.measured[2] = (struct spex_measured){.value = of.threads == 3 ? 0.03 : 0.01};
        trial.usage = usage_of(tpt);
        set_metrics(&trial, metrics, tpt, p99);
        assert_int_equal(spex_trial_add_load(&trial, "cpu", 2, &trial.usage), 0);
    }
    must(spex_store_put(making->store, ++making->number, space, &trial, NULL, 0, &why), &why);
    trial.status = trial.note = NULL;
    trial.metrics = NULL;
    trial.metric_count = 0;
    spex_trial_free(&trial);
}

/* Throughput grows with threads up to 3, and with pages in one mode alone. Two trials of each
 * configuration of the first threads; of 4 threads one configuration alone, which exceeds the
 * limit. `by`: what the mode gains. */
static void put_all(struct making *making, bool b, double by) {
    for (int t = 0; t < 2; t++)
        for (size_t c = 0; c < 36; c++) {
            size_t page = c / 4 % 3; /* 2: none, as it is not fast */
            struct configuration of = {c / 12, c % 2, page < 2, page < 2 ? page : 0, c / 2 % 2};
            double tpt = 300 * (double)(of.threads + 1) * (of.mode ? by : 1) *
                         (of.mode && page == 1 ? 1.5 : 1) * (of.ratio ? 0.9 : 1) *
                         (1 + 0.004 * (double)((c * 7 + (size_t)t * 5) % 6));
            put(making, b, of, tpt, 1e-5 * pow(tpt, 1.1) * (of.ratio ? 0.9 : 1), NULL);
        }
    if (!b)
        put(making, b, (struct configuration){3, 0, 1, 1, 1}, 5000, 0.001, NULL);
    for (int f = 0; f < 5; f++)
        put(making, b, (struct configuration){0, 0, 1, 0, 0}, NAN, NAN,
            f % 3 ? "no \"luck\"" : "a b\x1b\xff");
}

static void make_whole(const char *path) {
    struct making making;
    begin(&making, path, whole);
    put_all(&making, false, 1.3);
    end(&making);
}

static void make_turned(const char *path) {
    struct making making;
    strcpy(kernel, "k2");
    begin(&making, path, turned);
    strcpy(kernel, "k");
    put_all(&making, true, 1.1);
    end(&making);
}

/* Few trials of one parameter, without a result of the second one. */
static void make_little(const char *path, bool results) {
    struct making making;
    begin(&making, path, whole);
    for (size_t t = 0; t < 4; t++)
        put(&making, false, (struct configuration){t, t % 2, t > 1, 0, 1}, 100 + (double)t, 0.01,
            results && t != 2 ? NULL : "it \"ended\"");
    end(&making);
}

/* ---- comparing values ---- */

static char difference[512];

static bool same(const json_t *found, const json_t *expected, double tolerance, const char *where);

static bool same_members(const json_t *found, const json_t *expected, double tolerance,
                         const char *where) {
    const char *key;
    json_t *value;
    char at[256];
    bool all = json_object_size(found) == json_object_size(expected);
    json_object_foreach((json_t *)(uintptr_t)expected, key, value) {
        snprintf(at, sizeof(at), "%.200s.%.40s", where, key);
        /* What a model of the space says is not the same to the last digit everywhere, nor how
         * many of 2000 draws one has won. */
        all = all && same(json_object_get(found, key), value,
                          strcmp(key, "effects") == 0  ? 1e-4
                          : strcmp(key, "chance") == 0 ? 2e-3
                                                       : tolerance,
                          at);
    }
    return all;
}

static bool same_elements(const json_t *found, const json_t *expected, double tolerance,
                          const char *where) {
    bool all = json_array_size(found) == json_array_size(expected);
    for (size_t i = 0; all && i < json_array_size(expected); i++) {
        char at[256];
        snprintf(at, sizeof(at), "%.200s[%zu]", where, i);
        all = same(json_array_get(found, i), json_array_get(expected, i), tolerance, at);
    }
    return all;
}

static bool same(const json_t *found, const json_t *expected, double tolerance, const char *where) {
    bool is;
    if (json_is_object(expected) && json_is_object(found))
        is = same_members(found, expected, tolerance, where);
    else if (json_is_array(expected) && json_is_array(found))
        is = same_elements(found, expected, tolerance, where);
    else if (json_is_number(expected) && json_is_number(found))
        is = fabs(json_number_value(found) - json_number_value(expected)) <=
             1e-5 * fabs(json_number_value(expected)) + tolerance;
    else
        is = json_equal(found, expected);
    if (!is && !*difference)
        snprintf(difference, sizeof(difference), "%s", where);
    return is;
}

/* A member a line. */
static void leave(const json_t *found, const char *path) {
    FILE *file = fopen(path, "we");
    const char *key, *separator = "{";
    json_t *value;
    assert_non_null(file);
    json_object_foreach((json_t *)(uintptr_t)found, key, value) {
        fprintf(file, "%s\"%s\":", separator, key);
        json_dumpf(value, file, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
        separator = ",\n";
    }
    fputs("}\n", file);
    fclose(file);
}

static void expect_json(const char *name, char *text) {
    char path[512], wrong[512];
    snprintf(path, sizeof(path), EXPECTED "/%s", name);
    json_t *found = json_loads(text, 0, NULL), *expected = json_load_file(path, 0, NULL);
    assert_non_null(found);
    *difference = '\0';
    if (!expected || !same(found, expected, 1e-9, "")) {
        snprintf(wrong, sizeof(wrong), "/tmp/spex-%s", name);
        leave(found, wrong);
        fail_msg("%s differs from %s at %s", wrong, path, difference);
    }
    json_decref(found);
    json_decref(expected);
    free(text);
}

/* ---- reports ---- */

TEST(a_whole_report) {
    make_whole("whole.db");
    struct spex_report_options options = report_of("whole.db");
    options.without_trials = true;
    expect_json("whole.json", written(&options, &options.json));
}

TEST(reports_of_little) {
    for (int results = 0; results < 2; results++) {
        make_little("little.db", results);
        struct spex_report_options options = report_of("little.db");
        expect_json(results ? "little.json" : "failed.json", written(&options, &options.json));
    }
}

TEST(a_report_of_two) {
    make_whole("whole.db");
    make_turned("turned.db");
    struct spex_report_options options = report_of("whole.db");
    options.other = "turned.db";
    expect_json("whole-two.json", written(&options, &options.json));
}

TEST(an_explanation) {
    char *text = NULL;
    size_t size;
    make_whole("whole.db");
    struct spex_explain_options options = {
        .size = sizeof(options), .store = "whole.db", .a = "worst", .b = "best"};
    options.json = open_memstream(&text, &size);
    must(spex_explain(&options, why_text, sizeof(why_text)), &(struct spex_error){"explain"});
    fclose(options.json);
    expect_json("whole-explained.json", text);
}

/* Which configurations a name may mean: up to three of them, in the order in which they ran. */
TEST(names_of_several) {
    static const struct {
        const char *name, *why;
    } cases[] = {
        {"threads=1,mode=x,ratio=0.5",
         "\"threads=1,mode=x,ratio=0.5\": 3 configurations have these values: threads=1 ratio=0.5 "
         "fast=true page=4 KB mode=x; threads=1 ratio=0.5 fast=true page=64 KB mode=x; threads=1 "
         "ratio=0.5 fast=false page=- mode=x"},
        {"threads=1,mode=x,page=64",
         "\"threads=1,mode=x,page=64\": 2 configurations have these values: threads=1 ratio=0.5 "
         "fast=true page=64 KB mode=x; threads=1 ratio=1.5 fast=true page=64 KB mode=x"},
        {"mode=x", "\"mode=x\": 18 configurations have these values: threads=1 ratio=0.5 fast=true "
                   "page=4 KB mode=x; threads=1 ratio=1.5 fast=true page=4 KB mode=x; threads=1 "
                   "ratio=0.5 fast=true page=64 KB mode=x; …"},
    };
    make_whole("whole.db");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_explain_options options = {
            .size = sizeof(options), .store = "whole.db", .a = cases[c].name, .b = "best"};
        assert_int_equal(spex_explain(&options, why_text, sizeof(why_text)), -EINVAL);
        assert_string_equal(why_text, cases[c].why);
    }
}

/* An exploration may store more trials after a study was read: they count for nothing. */
TEST(trials_that_came_later) {
    struct spex_study study;
    struct spex_quantities quantities;
    struct spex_error why;
    make_little("little.db", true);
    must(spex_study_read(&study, "little.db", &why), &why);
    assert_int_equal(study.trials.count, 4);
    for (size_t count = 0; count <= 4; count++) {
        uint64_t expected = count < 2 ? count : count < 4 ? 2 : 3; /* one of them failed */
        study.trials.count = count;
        must(spex_quantities_read(&quantities, &study, study.store, &why), &why);
        assert_int_equal(quantities.count > 0, count > 0);
        for (size_t q = 0; q < quantities.count; q++) {
            uint64_t trials = 0;
            for (size_t g = 0; g < study.summary.count; g++)
                trials += quantities.items[q].samples[g].trials;
            assert_int_equal(trials, expected);
        }
        spex_quantities_free(&quantities);
    }
    spex_study_free(&study);
}

/* Commas and quotes, and values that are not there. */
TEST(a_table) {
    make_little("little.db", true);
    struct spex_report_options options = report_of("little.db");
    char *text = written(&options, &options.csv);
    assert_string_equal(
        text,
        "trial,status,threads,ratio,fast,page,mode,throughput of q:tpt [/s],"
        "error of throughput of q:tpt [/s],p99 of q:lat [s],error of p99 of q:lat [s],"
        "max of q:lat [s],error of max of q:lat [s],records_used,records_lost,seconds,steady\r\n"
        "1,ok,1,0.5,false,-,y<z>,100,0.5,0.01,,0.01,0,1000,0,1.5,0\r\n"
        "2,ok,2,1.5,false,-,y<z>,101,0.505,0.01,,0.01,0,1000,1,2.5,0\r\n"
        "3,\"it \"\"ended\"\"\",3,0.5,true,4,y<z>,,,,,,,1000,2,1.5,0\r\n"
        "4,ok,4,1.5,true,4,y<z>,103,0.515,0.01,,0.03,0,1000,3,2.5,0\r\n");
    free(text);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
