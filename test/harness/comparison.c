/* SPDX-License-Identifier: MIT */
/* Comparisons in simulated noise: equal programs are taken for different in about 1 % of runs,
 * however many benchmarks they have and whatever the machine does, and 2 % are found. What is read is looked at. */
#include <errno.h>

#include "../check.h"
#include "noise.h"
#include "tools/bench/comparison.h"

/* So many runs with a chance of 1 and 0.5 %, and three standard errors more. */
enum { RUNS = 200, ROUNDS = 40, DIFFER_MOST = 6, WORSE_MOST = 4 };

/* An output of one program with `count` benchmarks, whose first takes `first` times as long. */
static json_t *output_make(struct spex_random *random, int count, double first) {
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "work/n:%d", i);
        double time = noisy(random, (i + 1) * (i ? 1 : first));
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:f, s:f, s:s}", "name", name, "run_name",
                                        name, "run_type", "iteration", "real_time", time,
                                        "items_per_second", 1 / time, "time_unit", "us"));
    }
    return json_pack("{s:{}, s:o}", "context", "benchmarks", rows);
}

static void add(struct spex_bench_results *results, unsigned side, json_t *output,
                const char *figure) {
    struct spex_error error;
    assert_int_equal(spex_bench_results_add(results, side, output, figure, false, "test", &error),
                     0);
    json_decref(output);
}

/* How many verdicts are differences, and whether the first benchmark is worse than is allowed. Frees
 * the results. */
static int judged(struct spex_bench_results *results, const struct spex_bench_criterion *criterion,
                  bool *worse) {
    struct spex_bench_verdict *verdicts;
    size_t count;
    int differ = 0;
    assert_int_equal(spex_bench_judge(results, criterion, &verdicts, &count), 0);
    assert_int_equal(count, results->count);
    for (size_t i = 0; i < count; i++)
        differ += verdicts[i].differs;
    *worse = verdicts[0].worse;
    free(verdicts);
    spex_bench_results_free(results);
    return differ;
}

/* The same of two programs with `count` benchmarks. */
static int differences(struct spex_random *random, int count, double first,
                       const struct spex_bench_criterion *criterion, bool *worse) {
    struct spex_bench_results results = {.items = NULL};
    const char *figure = criterion->greater ? "items_per_second" : "real_time";
    for (int round = 0; round < ROUNDS; round++) {
        add(&results, 0, output_make(random, count, 1), figure);
        add(&results, 1, output_make(random, count, first), figure);
    }
    return judged(&results, criterion, worse);
}

/* Runs in which any benchmark differs, and in which the first is worse. */
static void runs(int count, double first, struct spex_bench_criterion criterion, int *differ,
                 int *worse) {
    struct spex_random random;
    spex_random_seed(&random, (uint64_t)count, criterion.paired);
    *differ = *worse = 0;
    for (int run = 0; run < RUNS; run++) {
        bool one_worse;
        *differ += differences(&random, count, first, &criterion, &one_worse) > 0;
        *worse += one_worse;
    }
}

TEST(test_equal_programs) {
    static const struct spex_bench_criterion criteria[] = {
        {.paired = true}, {.paired = false}, {.paired = true, .greater = true}};
    for (size_t c = 0; c < sizeof(criteria) / sizeof(criteria[0]); c++) {
        int differ, worse;
        runs(1, 1, criteria[c], &differ, &worse);
        assert_true(differ <= DIFFER_MOST && worse <= WORSE_MOST);
        runs(5, 1, criteria[c], &differ, &worse);
        assert_true(differ <= DIFFER_MOST && worse <= WORSE_MOST);
    }
}

/* The machine becomes slower and faster, disturbances outlast a process, and the second process of
 * a round always takes 3 % longer: the random order alone makes the test right. */
TEST(test_equal_programs_on_a_machine_that_changes) {
    static const struct spex_bench_criterion paired = {.paired = true};
    struct spex_random random;
    int differ = 0, worse = 0;
    spex_random_seed(&random, 7, 0);
    for (int run = 0; run < RUNS; run++) {
        struct spex_bench_results results = {.items = NULL};
        double speed = 1, disturbed = 0;
        bool one_worse;
        for (int round = 0; round < ROUNDS; round++) {
            unsigned first = spex_random_next(&random) >> 63;
            for (unsigned turn = 0; turn < 2; turn++) {
                speed *= 0.99 + 0.02 * uniform(&random);
                disturbed = 0.8 * disturbed + 0.1 * uniform(&random);
                double time = speed * (1 + disturbed) * (turn ? 1.03 : 1);
                add(&results, turn ^ first, output_make(&random, 1, time), "real_time");
            }
        }
        differ += judged(&results, &paired, &one_worse);
        worse += one_worse;
    }
    assert_true(differ <= DIFFER_MOST && worse <= WORSE_MOST);
}

TEST(test_two_per_cent_are_found) {
    for (int greater = 0; greater < 2; greater++)
        for (int paired = 0; paired < 2; paired++) {
            struct spex_bench_criterion criterion = {.paired = paired, .greater = greater};
            int differ, worse;
            runs(1, 1.02, criterion, &differ, &worse);
            assert_true(differ > 0.95 * RUNS && worse > 0.95 * RUNS);
            /* 2 % are no more than the 2 % that are allowed; those faster are not worse. */
            criterion.allowed = 0.02;
            runs(1, 1.02, criterion, &differ, &worse);
            assert_true(worse <= WORSE_MOST);
            criterion.allowed = 0;
            runs(1, 1 / 1.02, criterion, &differ, &worse);
            assert_true(differ > 0.95 * RUNS && worse == 0);
        }
}

TEST(test_least_chances) {
    assert_true(fabs(spex_bench_least_chance(6, 1, true) - 2 / 64.0) < 1e-12);
    assert_true(fabs(spex_bench_least_chance(4, 3, false) - 6 / 70.0) < 1e-12);
}

static void refuse(const char *text, const char *message) {
    struct spex_error error;
    assert_null(spex_bench_output_read(text, strlen(text), "file.json", &error));
    assert_non_null(strstr(error.text, "file.json"));
    assert_non_null(strstr(error.text, message));
}

TEST(test_what_is_no_output) {
    refuse("", "JSON of benchmarks was expected");
    refuse("{\"benchmarks\": [}", "line 1");
    refuse("[]", "an array \"benchmarks\"");
    refuse("{\"benchmarks\": {}}", "an array \"benchmarks\"");
    refuse("{\"benchmarks\": [NaN]}", "line 1");
}

/* Rows of other kinds are passed over; names are made printable. */
TEST(test_odd_rows) {
    static const char text[] =
        "{\"benchmarks\": [1, null, [], {}, {\"run_type\": \"aggregate\", \"name\": \"x\"},"
        " {\"run_type\": \"iteration\", \"name\": \"a\\u001b[1m\", \"real_time\": 2,"
        "  \"time_unit\": \"ms\"},"
        " {\"run_type\": \"iteration\", \"name\": \"a\\u001b[1m\", \"real_time\": 4,"
        "  \"time_unit\": \"ms\"},"
        " {\"run_type\": \"iteration\", \"name\": \"b\", \"real_time\": \"2\"},"
        " {\"run_type\": \"iteration\", \"name\": \"c\", \"error_occurred\": true,"
        "  \"error_message\": \"no\\nfile\", \"real_time\": 0, \"time_unit\": \"ns\"}]}";
    struct spex_bench_results results = {.items = NULL};
    struct spex_error error;
    json_t *output = spex_bench_output_read(text, strlen(text), "odd", &error);
    assert_non_null(output);
    assert_int_equal(spex_bench_results_add(&results, 0, output, "real_time", false, "odd", &error),
                     0);
    assert_int_equal(results.count, 3);
    assert_string_equal(results.items[0].name, "a?[1m");
    assert_int_equal(results.items[0].sides[0].count, 1);
    assert_true(results.items[0].sides[0].values[0] == 3e-3);
    assert_int_equal(results.items[1].sides[0].count, 0);
    assert_string_equal(results.items[2].error, "no?file");
    assert_int_equal(spex_bench_results_add(&results, 1, output, "cycles", true, "odd", &error),
                     -ENOENT);
    assert_non_null(strstr(error.text, "\"cycles\""));
    spex_bench_results_free(&results);
    json_decref(output);
}
