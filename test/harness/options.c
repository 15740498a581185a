/* SPDX-License-Identifier: MIT */
/* The options of a program of benchmarks: what each takes, its bounds, and what is refused. */
#include <errno.h>

#include "../check.h"
#include "../unit/messages.h"
#include "harness/settings.h"

static struct spex_bench_settings settings;

static int taken(const char *option) {
    static char text[128];
    char program[] = "program";
    char *arguments[] = {program, text, NULL};
    snprintf(text, sizeof(text), "%s", option);
    return spex_bench_settings_take(&settings, 2, arguments);
}

/* Valid until the next call. */
static const char *complaint(const char *option) {
    messages_begin();
    int err = taken(option);
    const char *said = messages_end();
    assert_int_equal(err, -EINVAL);
    return said;
}

TEST(test_defaults) {
    char program[] = "program";
    char *arguments[] = {program, NULL};
    assert_int_equal(spex_bench_settings_take(&settings, 1, arguments), 0);
    assert_true(settings.seed < 1000000);
    assert_true(!settings.filter && !settings.out && !settings.counters && !settings.colour);
    assert_true(!settings.list && !settings.tabular);
    assert_true(!settings.aggregates_only && !settings.aggregates_only_displayed);
    assert_true(settings.interleave && settings.singles);
    assert_int_equal(settings.format, SPEX_BENCH_CONSOLE);
    assert_int_equal(settings.out_format, SPEX_BENCH_JSON);
    assert_int_equal(settings.repetitions, 0);
    assert_int_equal(settings.processes, 1);
    assert_int_equal(settings.child, -1);
    assert_true(settings.min_seconds == 0.05 && settings.max_seconds == 2);
    assert_true(settings.warmup_seconds == 0 && settings.precision == 0.01);
}

TEST(test_numbers) {
    static const struct {
        const char *option, *least, *most, *below, *above;
        const double *seconds;
        double from, to;
    } cases[] = {
        {"min_time", "0.0001", "3600", "0.00009", "3600.1s", &settings.min_seconds, 1e-4, 3600},
        {"max_time", "0", "86400s", "-1", "86401", &settings.max_seconds, 0, 86400},
        {"min_warmup_time", "0s", "3600", "-0.1", "3601", &settings.warmup_seconds, 0, 3600},
        {"precision", "0", "100%", "-1", "100.1", &settings.precision, 0, 1},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const char *const texts[] = {cases[c].least, cases[c].most, cases[c].below, cases[c].above};
        for (size_t t = 0; t < COUNT_OF(texts); t++) {
            char option[64], expected[64];
            snprintf(option, sizeof(option), "--benchmark_%s=%s", cases[c].option, texts[t]);
            if (t < 2) {
                assert_int_equal(taken(option), 0);
                assert_true(*cases[c].seconds == (t ? cases[c].to : cases[c].from));
                continue;
            }
            snprintf(expected, sizeof(expected), "spex: --benchmark_%s: a number of ",
                     cases[c].option);
            assert_ptr_equal(strstr(complaint(option), expected), complaint(option));
        }
    }
    /* A unit is no number, and the other one's is none. */
    complaint("--benchmark_min_time=s");
    complaint("--benchmark_min_time=1%");
    complaint("--benchmark_precision=1s");
    complaint("--benchmark_min_time=0.100000000000000000000000000000000000");
    assert_string_equal(
        complaint("--benchmark_precision=x"),
        "spex: --benchmark_precision: a number of 0 to 100 was expected, not \"x\"\n");
}

TEST(test_counts) {
    assert_int_equal(taken("--benchmark_repetitions=100000"), 0);
    assert_int_equal(settings.repetitions, 100000);
    assert_int_equal(taken("--benchmark_repetitions=1"), 0);
    assert_int_equal(settings.repetitions, 1);
    assert_string_equal(
        complaint("--benchmark_repetitions=100001"),
        "spex: --benchmark_repetitions: a number of 1 to 100000 was expected, not \"100001\"\n");
    assert_int_equal(taken("--benchmark_processes=10000"), 0);
    assert_int_equal(settings.processes, 10000);
    complaint("--benchmark_processes=0");
    complaint("--benchmark_processes=10001");
    assert_int_equal(taken("--benchmark_seed=1000000000000000"), 0);
    assert_int_equal(settings.seed, 1000000000000000);
    complaint("--benchmark_seed=1000000000000001");
    assert_int_equal(taken("--benchmark_seed=0"), 0);
    assert_int_equal(settings.seed, 0);
    assert_int_equal(taken("--benchmark_child=7"), 0);
    assert_int_equal(settings.child, 7);
}

TEST(test_texts) {
    static const struct {
        const char *option;
        const char *const *to;
    } cases[] = {{"--benchmark_filter=x", &settings.filter},
                 {"--benchmark_perf_counters=x", &settings.counters},
                 {"--benchmark_out=x", &settings.out},
                 {"--benchmark_color=x", &settings.colour}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char without[64];
        assert_int_equal(taken(cases[c].option), 0);
        assert_string_equal(*cases[c].to, "x");
        snprintf(without, sizeof(without), "%.*s", (int)strlen(cases[c].option) - 1,
                 cases[c].option);
        assert_non_null(strstr(complaint(without), ": a text was expected, not \"\"\n"));
    }
    static const char *const formats[] = {"console", "json", "csv"};
    for (int f = 0; f < 3; f++) {
        char option[64];
        snprintf(option, sizeof(option), "--benchmark_format=%s", formats[f]);
        assert_int_equal(taken(option), 0);
        assert_int_equal(settings.format, f);
        assert_int_equal(settings.out_format, SPEX_BENCH_JSON);
    }
    assert_int_equal(taken("--benchmark_out_format=console"), 0);
    assert_int_equal(settings.out_format, SPEX_BENCH_CONSOLE);
    assert_string_equal(
        complaint("--benchmark_out_format=xml"),
        "spex: --benchmark_out_format: console, json or csv was expected, not \"xml\"\n");
    assert_string_equal(complaint("operand"),
                        "spex: no argument \"operand\" was expected; see --help\n");
}

TEST(test_switches) {
    static const struct {
        const char *option;
        bool alone;
        const bool *to;
    } cases[] = {{"list_tests", true, &settings.list},
                 {"percentiles", false, &settings.singles},
                 {"enable_random_interleaving", false, &settings.interleave},
                 {"report_aggregates_only", true, &settings.aggregates_only},
                 {"display_aggregates_only", true, &settings.aggregates_only_displayed},
                 {"counters_tabular", true, &settings.tabular}};
    static const struct {
        const char *text;
        bool yes;
    } values[] = {{"=true", true}, {"=false", false}, {"=1", true}, {"=0", false}, {"", true}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char option[64];
        for (size_t v = 0; v + !cases[c].alone < COUNT_OF(values); v++) {
            snprintf(option, sizeof(option), "--benchmark_%s%s", cases[c].option, values[v].text);
            assert_int_equal(taken(option), 0);
            assert_int_equal(*cases[c].to, values[v].yes);
        }
        snprintf(option, sizeof(option), "--benchmark_%s=yes", cases[c].option);
        assert_non_null(strstr(complaint(option), ": true or false was expected, not \"yes\"\n"));
    }
}
