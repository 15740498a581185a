/* SPDX-License-Identifier: MIT */
/* Reports of a store that has something of everything: which configurations a name may mean, which
 * trials count, and the table of them. */
#include <errno.h>
#include <math.h>

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

/* Failed when there is a reason. */
static void put(struct making *making, struct configuration of, double tpt, double p99,
                const char *reason) {
    size_t levels[] = {of.threads, of.ratio, of.fast, of.page, of.mode};
    const struct spex_space *space = &making->file->space;
    struct spex_trial_metric metrics[3];
    struct spex_trial trial;
    struct spex_error why = {""};
    assert_int_equal(spex_trial_init(&trial, space, levels), 0);
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
 * limit.*/
static void put_all(struct making *making) {
    for (int t = 0; t < 2; t++)
        for (size_t c = 0; c < 36; c++) {
            size_t page = c / 4 % 3; /* 2: none, as it is not fast */
            struct configuration of = {c / 12, c % 2, page < 2, page < 2 ? page : 0, c / 2 % 2};
            double tpt = 300 * (double)(of.threads + 1) * (of.mode ? 1.3 : 1) *
                         (of.mode && page == 1 ? 1.5 : 1) * (of.ratio ? 0.9 : 1) *
                         (1 + 0.004 * (double)((c * 7 + (size_t)t * 5) % 6));
            put(making, of, tpt, 1e-5 * pow(tpt, 1.1) * (of.ratio ? 0.9 : 1), NULL);
        }
    put(making, (struct configuration){3, 0, 1, 1, 1}, 5000, 0.001, NULL);
    for (int f = 0; f < 5; f++)
        put(making, (struct configuration){0, 0, 1, 0, 0}, NAN, NAN,
            f % 3 ? "no \"luck\"" : "a b\x1b\xff");
}

static void make_whole(const char *path) {
    struct making making;
    begin(&making, path, whole);
    put_all(&making);
    end(&making);
}

/* Few trials of one parameter, without a result of the second one. */
static void make_little(const char *path, bool results) {
    struct making making;
    begin(&making, path, whole);
    for (size_t t = 0; t < 4; t++)
        put(&making, (struct configuration){t, t % 2, t > 1, 0, 1}, 100 + (double)t, 0.01,
            results && t != 2 ? NULL : "it \"ended\"");
    end(&making);
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
