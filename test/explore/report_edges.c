/* SPDX-License-Identifier: MIT */
/* Whole texts of reports of stores at their edges: without results, of several machines, with more
 * ties than are listed; and comparisons and explanations of what has little in common. */
#include "expected_text.h"
#include "report_stores.h"

static const char one[] = "<space name='s'>" PARAMETERS OBJECTIVE "</space>";

static void expect_report(const char *path, const char *other, const char *name) {
    struct spex_report_options options = report_of(path);
    options.other = other;
    char *text = written(&options, &options.text);
    expect_file(name, text);
    free(text);
}

static void make_failed(const char *path) {
    struct making making;
    begin(&making, path, one);
    put(&making, 0, 0, NAN, NAN, "no luck");
    put(&making, 2, 1, NAN, NAN, "no luck");
    end(&making);
}

/* Which of two stores has results, or none. */
TEST(without_results) {
    make_failed("a.db");
    make_whole("b.db", one, 2);
    expect_report("a.db", "b.db", "none-some.txt");
    expect_report("b.db", "a.db", "some-none.txt");
    expect_report("a.db", NULL, "none.txt");
}

/* Four trials of each of these values, by a and mode; 0: none. */
static void make_of(const char *path, const double values[6]) {
    struct making making;
    begin(&making, path, one);
    for (int t = 0; t < 4; t++)
        for (size_t c = 0; c < 6; c++)
            if (values[c] > 0)
                put(&making, c / 2, c % 2, values[c] * (t % 2 ? 1.01 : 0.99), NAN, NULL);
    end(&making);
}

/* A's best was not run for B; it is worse there; it is as good there as B's best. */
TEST(bests_that_differ) {
    make_of("a.db", (const double[]){100, 200, 300, 400, 500, 900});
    make_of("b.db", (const double[]){100, 200, 300, 700, 500, 0});
    expect_report("a.db", "b.db", "best-missing.txt");
    make_of("b.db", (const double[]){100, 200, 300, 700, 500, 400});
    expect_report("a.db", "b.db", "best-worse.txt");
    make_of("b.db", (const double[]){100, 200, 300, 700, 500, 699});
    expect_report("a.db", "b.db", "best-tied.txt");
}

/* Trials of two kernels in one store, and of one kernel on two hosts. */
TEST(several_machines) {
    for (int classes = 0; classes < 2; classes++) {
        struct making making;
        struct spex_error why = {""};
        struct spex_circumstances now;
        char texts[SPEX_ON_COUNT][2] = {"i", "k", "c", "2", "8", "b", "1"};
        begin(&making, "machines.db", one);
        put(&making, 0, 0, 100, NAN, NULL);
        for (size_t c = 0; c < SPEX_ON_COUNT; c++)
            now.texts[c] = texts[c];
        texts[SPEX_ON_KERNEL][0] = classes ? 'l' : 'k';
        must(spex_store_begin(making.store, &now, true, &why), &why);
        put(&making, 1, 0, 200, NAN, NULL);
        end(&making);
        expect_report("machines.db", NULL, classes ? "classes.txt" : "hosts.txt");
    }
    make_whole("a.db", one, 2);
    expect_report("a.db", "machines.db", "two-classes.txt");
}

static const char wide[] =
    "<space name='wide'><parameter name='a' type='integer' min='1' "
    "max='40'/>" OBJECTIVE "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<run trials_per_config='2'/></space>";

/* As good as each other in the first objective, and each better in the second. */
TEST(more_than_are_listed) {
    struct making making;
    begin(&making, "wide.db", wide);
    for (int t = 0; t < 2; t++)
        for (size_t a = 0; a < 40; a++)
            put(&making, a, 0, (1000 + 0.001 * (double)a) * (t ? 1.05 : 0.95),
                (1 + 0.1 * (double)a) * (t ? 1.001 : 0.999), NULL);
    end(&making);
    struct spex_report_options options = report_of("wide.db");
    char *text = written(&options, &options.text);
    /* Chance decides which of them are ties, and how many. */
    size_t tied = 0, more = 0, listed = 0;
    const char *ties = strstr(text, "\ntied       ");
    char *front = strstr(text, "\nPareto front"), *effects = strstr(text, "\neffects on the first");
    assert_true(ties && front && effects);
    assert_int_equal(sscanf(ties, "\ntied       %zu configurations", &tied), 1);
    for (const char *row = ties; row < front; row = strchr(row + 1, '\n')) {
        listed += strncmp(row, "\n  1000/s  ", 11) == 0;
        sscanf(row, "\nand %zu more", &more);
    }
    assert_int_equal(listed, 10);
    assert_int_equal(listed + more, tied);
    memmove(text, front, (size_t)(effects - front));
    text[effects - front] = '\0';
    expect_file("wide.txt", text);
    free(text);
}

static void expect_explanation(const char *a, const char *b, bool all, const char *name) {
    char *text = NULL;
    size_t size;
    struct spex_explain_options options = {.size = sizeof(options),
                                           .store = "trials.db",
                                           .a = a,
                                           .b = b,
                                           .all = all,
                                           .text = open_memstream(&text, &size)};
    if (spex_explain(&options, why_text, sizeof(why_text)))
        fail_msg("%s", why_text);
    fclose(options.text);
    expect_file(name, text);
    free(text);
}

/* One trial of each configuration tells of no change how sure it is. */
TEST(explanations_of_little) {
    struct making making;
    begin(&making, "trials.db", one);
    put(&making, 0, 0, 100, 0.5, NULL);
    put(&making, 1, 0, 300, 0.5, NULL);
    end(&making);
    expect_explanation("worst", "best", false, "explained-once.txt");
    expect_explanation("a=2", "a=1", true, "explained-all.txt");
}

static char *explanation_of(const char *a, const char *b) {
    char *text = NULL;
    size_t size;
    struct spex_explain_options options = {.size = sizeof(options),
                                           .store = "trials.db",
                                           .a = a,
                                           .b = b,
                                           .all = true,
                                           .text = open_memstream(&text, &size)};
    if (spex_explain(&options, why_text, sizeof(why_text)))
        fail_msg("%s", why_text);
    fclose(options.text);
    return text;
}

/* However alike the trials of other configurations were; and where both have two, no more digits
 * are told than changes are judged by. */
TEST(one_trial_has_no_interval) {
    struct making making;
    begin(&making, "trials.db", one);
    for (int t = 0; t < 2; t++) {
        put(&making, 0, 0, 100, 0.5, NULL);
        put(&making, 0, 1, 200 + 1e-4 * t, 0.5, NULL);
        put(&making, 1, 1, 400, 0.5, NULL);
    }
    put(&making, 2, 0, 300, 0.25, NULL);
    end(&making);
    char *text = explanation_of("a=1,mode=x", "a=4,mode=x");
    assert_non_null(strstr(text, "? x 3"));
    assert_null(strchr(strstr(text, "? x 3"), '('));
    free(text);
    text = explanation_of("#2", "#3");
    assert_non_null(strstr(text, " x 2.0000 (to 0.05 %)"));
    free(text);
}

/* The trials of these stores are measured for 1.5 s. */
TEST(trials_that_are_much_shorter_than_asked) {
    static const struct {
        const char *run;
        bool told;
    } cases[] = {{"<run duration='10'/>", true}, {"<run duration='2'/>", false}, {"", false}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct making making;
        char xml[1024];
        snprintf(xml, sizeof(xml), "<space name='s'>" PARAMETERS OBJECTIVE "%s</space>",
                 cases[c].run);
        begin(&making, "short.db", xml);
        put(&making, 0, 0, 100, 0.5, NULL);
        put(&making, 1, 0, 300, 0.5, NULL);
        end(&making);
        struct spex_report_options options = report_of("short.db");
        char *text = written(&options, &options.text);
        const char *line = strstr(text, "2 were measured for less than half of the 10 s");
        assert_int_equal(line != NULL, cases[c].told);
        assert_true(!line || strstr(line, "all for 1.5 s on average"));
        free(text);
    }
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
