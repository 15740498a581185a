/* SPDX-License-Identifier: MIT */
/* Reports of stores whose truth is known, in every form, of one store and of two; explanations; and
 * what goes wrong. */
#include <errno.h>
#include <math.h>

#include <spex/explore.h>

#include "../scarce_memory.h"
#include "report_stores.h"

static const char one[] = "<space name='s&lt;script&gt;'>" PARAMETERS OBJECTIVE "</space>";
static const char other[] =
    "<space name='s'>" PARAMETERS "<objective probe='q:lat' metric='p99' goal='minimise'/></space>";

static bool contains(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

TEST(text_report) {
    make_whole("trials.db", one, 2);
    struct spex_report_options options = report_of("trials.db");
    char *text = written(&options, &options.text);
    static const char *const parts[] = {
        "best       798/s (95 %: ",
        ")  measured 800/s in 4 trials  a=4 MB mode=<y,z>\"",
        "worst      99.8/s (95 %: ",
        "1 failed\n         1 no \"luck\", today?or ever\n",
        "tied       none",
        "on         host h, kernel k, cpu c, cpus 2, memory 8, build b, spex 1",
        "best so far",
        "effects on the first objective",
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (!contains(text, parts[i]))
            fail_msg("%s not in\n%s", parts[i], text);
    free(text);
}

/* RFC 4180: quotes. */
TEST(csv) {
    make_whole("trials.db", two, 2);
    struct spex_report_options options = report_of("trials.db");
    char *text = written(&options, &options.csv);
    static const char head[] =
        "trial,status,a,mode,throughput of q:tpt [/s],error of throughput of "
        "q:tpt [/s],p99 of q:lat [s],error of p99 of q:lat [s],"
        "records_used,records_lost,seconds,steady\r\n"
        "1,ok,1,x,99,0.99,0.49,,5,0,1.5,1\r\n"
        "2,ok,1,\"<y,z>\"\"\",198,1.98,0.49,,5,0,1.5,1\r\n";
    static const char tail[] = "\r\n25,\"no \"\"luck\"\", today?or ever\",1,x,,,,,5,0,1.5,1\r\n";
    assert_memory_equal(text, head, strlen(head));
    assert_string_equal(text + strlen(text) - strlen(tail), tail);
    free(text);
}

/* A page takes what is not its own as text. */
TEST(page) {
    make_whole("trials.db", one, 2);
    struct spex_report_options options = report_of("trials.db");
    options.html = "page.html";
    int err = spex_report(&options, why_text, sizeof(why_text));
    if (err == -ENOENT)
        skip();
    assert_int_equal(err, 0);
    FILE *file = fopen("page.html", "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 22);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 1000);
    fclose(file);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<y,z>"));
    assert_non_null(strstr(text, "s&lt;script&gt;"));
    assert_non_null(strstr(text, "&lt;y,z&gt;&quot;"));
    assert_non_null(strstr(text, "no &quot;luck&quot;, today"));
    assert_non_null(strstr(text, "</html>"));
    assert_null(strstr(text, "<p class=\"faint\">and ")); /* and so many more */
    free(text);
}

static void expect_failure(struct spex_report_options *options, int err, const char *part) {
    why_text[0] = '\0';
    int got = spex_report(options, why_text, sizeof(why_text));
    if (got != err || !contains(why_text, part))
        fail_msg("%d: %s", got, why_text);
}

TEST(what_can_go_wrong) {
    struct making making;
    make_whole("trials.db", one, 2);
    struct spex_report_options options = report_of("trials.db");
    options.pareto = "p.svg";
    expect_failure(&options, -EINVAL, "two objectives or more");
    options = report_of("trials.db");
    options.heatmap = "h.svg";
    options.heatmap_x = "b";
    expect_failure(&options, -EINVAL, "no parameter \"b\"");
    options.heatmap_x = options.heatmap_y = "a";
    expect_failure(&options, -EINVAL, "expected to differ");
    options = report_of("trials.db");
    options.effects = "/nonexistent/e.svg";
    expect_failure(&options, -ENOENT, "cannot write /nonexistent/e.svg:");
    options = report_of("trials.db");
    options.html = "/nonexistent/page.html";
    expect_failure(&options, -ENOENT, "cannot write /nonexistent/page.html:");
    options = report_of("absent.db");
    expect_failure(&options, -ENOENT, "absent.db");
    options = report_of("trials.db");
    options.other = "absent.db";
    expect_failure(&options, -ENOENT, "absent.db");
    options.html = "page.html";
    expect_failure(&options, -EINVAL, "as text or JSON only");
    begin(&making, "empty.db", one);
    put(&making, 0, 0, NAN, NAN, "no luck");
    end(&making);
    options = report_of("empty.db");
    options.convergence = "c.svg";
    expect_failure(&options, -ENODATA, "no trial has a result");
    assert_int_equal(access("c.svg", F_OK), -1);
}

/* One trial, or none with a result: everything but pictures is there. */
TEST(little) {
    struct making making;
    for (int results = 0; results < 2; results++) {
        begin(&making, "little.db", two);
        put(&making, 0, 0, results ? 5 : NAN, results ? 1 : NAN, results ? NULL : "no luck");
        end(&making);
        struct spex_report_options options = report_of("little.db");
        char *text = written(&options, &options.text);
        assert_true(contains(text, results ? "measured 5.00/s in 1 trial  a=1 MB"
                                           : "no trial has a result"));
        free(text);
        options = report_of("little.db");
        json_t *report = json_of(&options);
        assert_true(json_is_null(json_object_get(report, "best")) == !results);
        json_decref(report);
        options = report_of("little.db");
        options.html = "little.html";
        int err = spex_report(&options, why_text, sizeof(why_text));
        assert_true(err == 0 || err == -ENOENT);
    }
}

/* B is 10 % faster, but for one configuration, which is half as fast. */
TEST(two_stores) {
    struct making making;
    make_whole("a.db", one, 2);
    begin(&making, "b.db", one);
    for (int t = 0; t < 4; t++)
        for (size_t a = 0; a < 3; a++)
            for (size_t mode = 0; mode < 2; mode++)
                put(&making, a, mode,
                    100 * (1 << a) * (mode ? 2 : 1) * (t % 2 ? 1.01 : 0.99) *
                        (a == 1 && mode == 0 ? 0.5 : 1.1),
                    NAN, NULL);
    end(&making);
    struct spex_report_options options = report_of("a.db");
    options.other = "b.db";
    json_t *report = json_of(&options);
    assert_true(json_is_true(json_object_get(report, "same_space")));
    assert_true(json_is_true(json_object_get(report, "same_machine")));
    assert_int_equal(json_array_size(json_object_get(report, "pairs")), 6);
    const json_t *drift =
        json_object_get(json_array_get(json_object_get(report, "drift"), 0), "change");
    assert_true(fabs(number_at(drift, "ratio") - pow(pow(1.1, 5) * 0.5, 1.0 / 6)) < 1e-9);
    assert_true(json_is_false(json_object_get(drift, "significant")));
    const json_t *best = json_object_get(report, "best_change");
    assert_true(fabs(number_at(best, "ratio") - 1.1) < 1e-9);
    assert_true(json_is_true(json_object_get(best, "significant")));
    const json_t *pair = json_array_get(json_object_get(report, "pairs"), 0);
    assert_true(json_is_true(json_object_get(pair, "apart")));
    assert_true(fabs(number_at(json_object_get(pair, "change"), "ratio") - 0.5) < 1e-9);
    /* A ranks 100 200 200 400 400 800 as 0 1.5 1.5 3.5 3.5 5, B 110 220 100 440 440 880 as 1 2 0
     * 3.5 3.5 5. */
    assert_true(fabs(number_at(report, "rank_correlation") - 15 / sqrt(16.5 * 17)) < 1e-9);
    json_decref(report);
    options = report_of("a.db");
    options.other = "b.db";
    char *text = written(&options, &options.text);
    assert_true(contains(text, "space      the same"));
    assert_true(contains(text, "they are the same configuration"));
    free(text);
}

TEST(stores_of_different_spaces) {
    make_whole("a.db", two, 2);
    make_whole("b.db", other, 2);
    struct spex_report_options options = report_of("a.db");
    options.other = "b.db";
    json_t *report = json_of(&options);
    assert_true(json_is_false(json_object_get(report, "same_space")));
    assert_int_equal(json_array_size(json_object_get(report, "pairs")), 0);
    assert_true(json_is_null(json_object_get(report, "best_change")));
    json_decref(report);
    options = report_of("a.db");
    options.other = "b.db";
    char *text = written(&options, &options.text);
    assert_true(contains(text, "space      differs: A has \"objective maximise throughput"));
    assert_true(contains(text, "not comparable"));
    free(text);
}

static struct spex_explain_options explain_of(const char *a, const char *b) {
    return (struct spex_explain_options){
        .size = sizeof(struct spex_explain_options), .store = "trials.db", .a = a, .b = b};
}

static json_t *explained(const char *a, const char *b) {
    struct spex_explain_options options = explain_of(a, b);
    char *text = NULL;
    size_t size;
    options.json = open_memstream(&text, &size);
    if (spex_explain(&options, why_text, sizeof(why_text)))
        fail_msg("%s", why_text);
    fclose(options.json);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

/* What a full disk does not take is an error, whatever is written. */
TEST(full_disk) {
    make_whole("a.db", one, 2);
    make_whole("b.db", one, 2);
    for (unsigned n = 0; n < 5; n++) {
        struct spex_report_options options = report_of("a.db");
        FILE **const outs[] = {&options.text, &options.json, &options.csv, &options.text,
                               &options.json};
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        *outs[n] = full;
        options.other = n >= 3 ? "b.db" : NULL;
        assert_int_equal(spex_report(&options, why_text, sizeof(why_text)), -EIO);
        assert_non_null(strstr(why_text, "cannot write the "));
        assert_non_null(strstr(why_text, "No space left on device"));
        fclose(full);
    }
}

static FILE *nowhere;

/* A report of any form, into nowhere. */
static int report_of_form(void *user) {
    unsigned form = *(const unsigned *)user;
    struct spex_report_options options = report_of("a.db");
    struct spex_explain_options explain = {.size = sizeof(explain), .store = "a.db"};
    FILE **const outs[] = {&options.text, &options.json, &options.csv, &options.text,
                           &options.json, &explain.text, &explain.json};
    *outs[form] = nowhere;
    options.other = form >= 3 ? "b.db" : NULL;
    explain.a = "worst";
    explain.b = "best";
    int err = form < 5 ? spex_report(&options, why_text, sizeof(why_text))
                       : spex_explain(&explain, why_text, sizeof(why_text));
    if (err && (err != -ENOMEM || !strstr(why_text, "memory")))
        fail_msg("form %u: %d, %s", form, err, why_text);
    return err;
}

TEST(without_memory) {
    make_whole("a.db", one, 2);
    make_whole("b.db", one, 2);
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    for (unsigned form = 0; form < 7; form++)
        assert_true(without_each_allocation(report_of_form, &form) > 20);
    fclose(nowhere);
}

/* The throughput doubled eightfold, the latency stayed. */
TEST(explanation) {
    make_whole("trials.db", one, 2);
    static const char *const names[] = {"best", "a=4,mode=<y,z>\"", "mode=<y,z>\",a=4", "#6"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        json_t *report = explained("worst", names[i]);
        const json_t *quantities = json_object_get(report, "quantities");
        const json_t *first = json_array_get(quantities, 0);
        assert_int_equal(json_array_size(quantities), 3); /* throughput, mean, p99 */
        assert_string_equal(json_string_value(json_object_get(first, "name")), "q:lat throughput");
        const json_t *change = json_object_get(first, "change");
        assert_true(fabs(number_at(change, "ratio") - 8) < 1e-9);
        assert_true(json_is_true(json_object_get(change, "significant")));
        const json_t *last = json_object_get(json_array_get(quantities, 2), "change");
        assert_true(json_is_false(json_object_get(last, "significant")));
        assert_int_equal(json_array_size(json_object_get(report, "differ")), 2);
        json_decref(report);
    }
}

TEST(usage) {
    with_usage = true;
    make_whole("trials.db", one, 2);
    with_usage = false;
    json_t *report = explained("worst", "best");
    const json_t *quantities = json_object_get(report, "quantities"), *quantity;
    size_t q, found = 0;
    json_array_foreach(quantities, q, quantity) {
        if (strcmp(json_string_value(json_object_get(quantity, "name")), "usage max_rss_bytes") !=
            0)
            continue;
        found++;
        assert_true(fabs(number_at(quantity, "a") - 100000) < 1e-6);
        assert_true(fabs(number_at(json_object_get(quantity, "change"), "ratio") - 8) < 1e-9);
    }
    assert_int_equal(found, 1);
    json_decref(report);
}

TEST(names_that_explain_nothing) {
    static const struct {
        const char *name;
        int err;
        const char *part;
    } cases[] = {
        {"#0", -EINVAL, "from #1 to #25"},
        {"#26", -EINVAL, "from #1 to #25"},
        {"#x", -EINVAL, "from #1 to #25"},
        {"b=1", -EINVAL, "best, worst, #TRIAL"},
        {"", -EINVAL, "best, worst, #TRIAL"},
        {"a", -EINVAL, "best, worst, #TRIAL"},
        {"a=3", -EINVAL, "\"3\" is no value of parameter \"a\""},
        {"a=4", -EINVAL, "2 configurations have these values: a=4 MB mode=x; a=4 MB"},
        {"best", -EINVAL, "are the same configuration"},
    };
    make_whole("trials.db", one, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct spex_explain_options options = explain_of("best", cases[i].name);
        int err = spex_explain(&options, why_text, sizeof(why_text));
        if (err != cases[i].err || !contains(why_text, cases[i].part))
            fail_msg("%s: %d: %s", cases[i].name, err, why_text);
    }
    struct making making;
    begin(&making, "trials.db", one);
    put(&making, 0, 0, 5, NAN, NULL);
    put(&making, 1, 0, NAN, NAN, "no luck");
    end(&making);
    struct spex_explain_options options = explain_of("best", "a=2");
    assert_int_equal(spex_explain(&options, why_text, sizeof(why_text)), -ENODATA);
    options.b = "a=4";
    assert_int_equal(spex_explain(&options, why_text, sizeof(why_text)), -EINVAL);
    assert_true(contains(why_text, "no such configuration was run"));
    options.size = 3;
    assert_int_equal(spex_explain(&options, why_text, sizeof(why_text)), -EINVAL);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
