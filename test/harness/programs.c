/* SPDX-License-Identifier: MIT */
/* What programs of benchmarks take, refuse and print: options, registrations, outputs and exit
 * statuses. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/bench.h>

#include "../check.h"
#include "../unit/messages.h"
#include "harness/registry.h"
#include "harness/settings.h"

static struct spex_bench_settings settings;

static int taken(const char *option) {
    char program[] = "program", text[128];
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

static void test_defaults(void **state) {
    char program[] = "program";
    char *arguments[] = {program, NULL};
    (void)state;
    assert_int_equal(spex_bench_settings_take(&settings, 1, arguments), 0);
    assert_true(settings.seed < 1000000);
    const struct spex_bench_settings expected = {.out_format = SPEX_BENCH_JSON,
                                                 .min_seconds = 0.05,
                                                 .max_seconds = 2,
                                                 .precision = 0.01,
                                                 .processes = 1,
                                                 .seed = settings.seed,
                                                 .interleave = true,
                                                 .singles = true,
                                                 .child = -1};
    assert_memory_equal(&settings, &expected, sizeof(expected));
}

static void test_numbers(void **state) {
    (void)state;
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

static void test_counts(void **state) {
    (void)state;
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

static void test_texts(void **state) {
    (void)state;
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

static void test_switches(void **state) {
    (void)state;
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

/* What a child prints, and how it ends. */
struct ended {
    int status;
    char out[8192], err[1024];
};

static void read_back(FILE *file, char *text, size_t size) {
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Calls the function in a child, which exits with what it returns. */
static const struct ended *in_child(int (*function)(const void *), const void *of) {
    static struct ended ended;
    FILE *out = tmpfile(), *err = tmpfile();
    assert_true(out && err);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        int status = function(of);
        fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &ended.status, 0), child);
    assert_true(WIFEXITED(ended.status));
    ended.status = WEXITSTATUS(ended.status);
    read_back(out, ended.out, sizeof(ended.out));
    read_back(err, ended.err, sizeof(ended.err));
    return &ended;
}

static void nothing(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        spex_bench_clobber();
    }
}

static int64_t many[SPEX_BENCH_VALUES_MAX + 1];

/* Each registers what is as much as may be, or more, if `beyond`. */
static void register_parameters(struct spex_benchmark *benchmark, bool beyond) {
    for (int p = 0; p < SPEX_BENCH_PARAMETERS_MAX + beyond; p++)
        spex_benchmark_steps(benchmark, "p", p, p, 1);
}

static void register_values(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_values(benchmark, "v", SPEX_BENCH_VALUES_MAX + beyond, many);
}

static void register_no_value(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_values(benchmark, "v", !beyond, many);
}

static void register_low(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_range(benchmark, "r", !beyond, 8, 2);
}

static void register_high(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_range(benchmark, "r", 8 + beyond, 8, 2);
}

static void register_factor(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_range(benchmark, "r", 1, 8, 2 - beyond);
}

static void register_steps(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_steps(benchmark, "s", 5 + beyond, 5, 1);
}

static void register_step(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_steps(benchmark, "s", 5, 6, !beyond);
}

static void register_no_thread(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_threads(benchmark, !beyond, 1);
}

static void register_threads(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_threads(benchmark, 1024, 1024 + beyond);
}

static void register_fewer_threads(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_threads(benchmark, 3 + beyond, 3);
}

static void register_complexity(struct spex_benchmark *benchmark, bool beyond) {
    if (!beyond)
        spex_benchmark_steps(benchmark, "s", 5, 6, 1);
    spex_benchmark_complexity(benchmark);
}

/* 65,536 instances with the three of the benchmarks below, or one more. */
static void register_instances(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_steps(benchmark, "a", 1, 13, 1);
    spex_benchmark_steps(benchmark, "b", 1, 71, 1);
    spex_benchmark_steps(benchmark, "c", 1, 71, 1);
    if (beyond)
        spex_benchmark_add("one", nothing, 1);
    struct spex_bench_instances instances;
    spex_bench_instances_make(&instances);
    spex_bench_instances_free(&instances);
}

struct registration {
    void (*function)(struct spex_benchmark *benchmark, bool beyond);
    const char *message;
};

static int registered(const void *of) {
    const struct registration *registration = of;
    registration->function(spex_benchmark_add("made\n", nothing, 1), false);
    return 7;
}

static int registered_beyond(const void *of) {
    const struct registration *registration = of;
    registration->function(spex_benchmark_add("made\n", nothing, 1), true);
    return 7;
}

static void test_registrations(void **state) {
    (void)state;
    static const char range[] = "a range from 1 or more up, by a factor of 2 or more, was expected",
                      steps[] = "steps of 1 or more upwards were expected",
                      threads[] = "1 to 1,024 threads were expected";
    static const struct registration registrations[] = {
        {register_parameters, "8 parameters at most were expected"},
        {register_values, "1,024 values of a parameter at most were expected"},
        {register_no_value, "a value of each parameter was expected"},
        {register_low, range},
        {register_high, range},
        {register_factor, range},
        {register_steps, steps},
        {register_step, steps},
        {register_no_thread, threads},
        {register_threads, threads},
        {register_fewer_threads, threads},
        {register_complexity, "a parameter before SPEX_BENCH_COMPLEXITY was expected"},
        {register_instances, "65,536 combinations of parameters at most were expected"},
    };
    for (size_t r = 0; r < COUNT_OF(registrations); r++) {
        char expected[160];
        const struct ended *ended = in_child(registered, &registrations[r]);
        assert_string_equal(ended->err, "");
        assert_int_equal(ended->status, 7);
        ended = in_child(registered_beyond, &registrations[r]);
        snprintf(expected, sizeof(expected), "spex: benchmark \"%s\": %s\n",
                 registrations[r].function == register_instances ? "one" : "made?",
                 registrations[r].message);
        assert_string_equal(ended->err, expected);
        assert_int_equal(ended->status, 1);
    }
}

struct command_line {
    char *arguments[8];
};

static int program_run(const void *of) {
    struct command_line line = *(const struct command_line *)of;
    int count = 0;
    while (line.arguments[count])
        count++;
    return spex_bench_main(count, line.arguments);
}

/* Runs the benchmarks below in a child, with an option or two. */
static const struct ended *program(const char *first, const char *second) {
    static char texts[7][128] = {"program", "--benchmark_min_time=0.0002",
                                 "--benchmark_repetitions=2", "--benchmark_percentiles=false"};
    struct command_line line = {{texts[0], texts[1], texts[2], texts[3], texts[4], texts[5]}};
    snprintf(texts[4], sizeof(texts[4]), "%s", first);
    snprintf(texts[5], sizeof(texts[5]), "%s", second ? second : "");
    if (!second)
        line.arguments[5] = NULL;
    return in_child(program_run, &line);
}

static void skipped(struct spex_bench_state *state) {
    spex_bench_skip(state, "");
    SPEX_BENCH_LOOP(state) {
        abort();
    }
}

SPEX_BENCHMARK_NAMED("empty", nothing, SPEX_BENCH_STEPS("n", 1, 3, 2));
SPEX_BENCHMARK_NAMED("left out", skipped);

static size_t rows_of(const char *text, const char *begin) {
    size_t count = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += strncmp(line, begin, strlen(begin)) == 0;
    }
    return count;
}

static void test_exit_statuses(void **state) {
    (void)state;
    const struct ended *ended = program("--benchmark_list_tests", NULL);
    assert_string_equal(ended->out, "empty/n:1\nempty/n:3\nleft out\n");
    assert_int_equal(ended->status, 0);
    ended = program("--benchmark_filter=no such", NULL);
    assert_string_equal(ended->err, "spex: there is no benchmark that matches no such\n");
    assert_int_equal(ended->status, 1);
    ended = program("--benchmark_filter=(", NULL);
    assert_string_equal(ended->err, "spex: --benchmark_filter: \"(\" is no regular expression\n");
    assert_int_equal(ended->status, 2);
    assert_int_equal(program("--benchmark_filter", NULL)->status, 2);
    ended = program("--help", NULL);
    assert_int_equal(strncmp(ended->out, "options of a program of benchmarks:\n", 36), 0);
    assert_int_equal(ended->status, 0);
    ended = program("--benchmark_format=csv", "--benchmark_filter=empty");
    assert_int_equal(rows_of(ended->out, "empty/n:1,"), 2);
    assert_int_equal(rows_of(ended->out, "empty/n:3,"), 2);
    assert_int_equal(rows_of(ended->out, ""), 6);
    assert_string_equal(ended->err, "");
    assert_int_equal(ended->status, 0);
    ended = program("--benchmark_format=csv", "--benchmark_filter=left");
    assert_int_equal(rows_of(ended->out, "left out,,,,,,,,true,skipped\n"), 1);
    assert_int_equal(ended->status, 1);
    ended = program("--benchmark_perf_counters=faults,nonsense::event", "--benchmark_filter=empty");
    assert_non_null(strstr(ended->err, "\"nonsense::event\" cannot be counted here"));
    assert_int_equal(ended->status, 1);
}

/* In each of the three formats, to a file in another than to standard output. */
static void test_outputs(void **state) {
    (void)state;
    char path[] = "/tmp/spex-programs-XXXXXX", out[128], text[8192];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(out, sizeof(out), "--benchmark_out=%s", path);
    const struct ended *ended = program("--benchmark_filter=empty/n:1", out);
    assert_int_equal(ended->status, 0);
    assert_int_equal(rows_of(ended->out, "empty/n:1 "), 1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    read_back(file, text, sizeof(text));
    assert_int_equal(strncmp(text, "{\n  \"context\": {", 16), 0);
    assert_int_equal(rows_of(text, "      \"run_type\": \"iteration\""), 2);
    unlink(path);
    ended = program("--benchmark_filter=empty/n:1", "--benchmark_out=/nowhere/file");
    assert_int_equal(ended->status, 1);
    assert_string_equal(
        ended->err,
        "spex: /nowhere/file: the figures cannot be written: No such file or directory\n");
    ended = program("--benchmark_filter=empty/n:1", "--benchmark_out=/dev/full");
    assert_int_equal(ended->status, 1);
    assert_string_equal(
        ended->err, "spex: /dev/full: the figures cannot be written: No space left on device\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_switches),      cmocka_unit_test(test_registrations),
        cmocka_unit_test(test_exit_statuses), cmocka_unit_test(test_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
