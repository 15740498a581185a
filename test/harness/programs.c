/* SPDX-License-Identifier: MIT */
/* What programs of benchmarks register, refuse and print, and how they and their processes end. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <spex/bench.h>

#include "../check.h"
#include "harness/registry.h"
#include "occurrences.h"

/* What a child prints, and how it ends. */
struct ended {
    int status;
    char out[16384], err[1024];
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
        /* As a log is: spex takes another file for the program's data. */
        fcntl(fileno(err), F_SETFL, O_APPEND);
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

/* 65,536 instances with the four of the benchmarks below, or one more. */
static void register_instances(struct spex_benchmark *benchmark, bool beyond) {
    spex_benchmark_steps(benchmark, "a", 1, 12, 1);
    spex_benchmark_steps(benchmark, "b", 1, 43, 1);
    spex_benchmark_steps(benchmark, "c", 1, 127, 1);
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

TEST(test_registrations) {
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

/* Runs the benchmarks below in a child, with up to three options. */
static const struct ended *program_with(const char *first, const char *second, const char *third) {
    static char texts[7][128] = {"program", "--benchmark_min_time=0.0002",
                                 "--benchmark_repetitions=2", "--benchmark_percentiles=false"};
    const char *const options[] = {first, second, third};
    struct command_line line = {{texts[0], texts[1], texts[2], texts[3]}};
    for (size_t o = 0; o < COUNT_OF(options) && options[o]; o++) {
        snprintf(texts[4 + o], sizeof(texts[4 + o]), "%s", options[o]);
        line.arguments[4 + o] = texts[4 + o];
    }
    return in_child(program_run, &line);
}

static const struct ended *program(const char *first, const char *second) {
    return program_with(first, second, NULL);
}

static void skipped(struct spex_bench_state *state) {
    spex_bench_skip(state, "");
    SPEX_BENCH_LOOP(state) {
        abort();
    }
}

/* Ends its process: by a signal, or with a status. */
static void ends(struct spex_bench_state *state) {
    const char *how = getenv("TEST_ENDS");
    (void)state;
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    _exit(atoi(how));
}

SPEX_BENCHMARK_NAMED("empty", nothing, SPEX_BENCH_STEPS("n", 1, 3, 2));
SPEX_BENCHMARK_NAMED("left out", skipped);
SPEX_BENCHMARK_NAMED("ends", ends);

static size_t rows_of(const char *text, const char *begin) {
    size_t count = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += strncmp(line, begin, strlen(begin)) == 0;
    }
    return count;
}

TEST(test_exit_statuses) {
    const struct ended *ended = program("--benchmark_list_tests", NULL);
    assert_string_equal(ended->out, "empty/n:1\nempty/n:3\nleft out\nends\n");
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
TEST(test_outputs) {
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

/* Each process of its own measures all, and the first one tells of what. */
TEST(test_processes) {
    const struct ended *ended = program_with("--benchmark_processes=3", "--benchmark_format=json",
                                             "--benchmark_filter=empty/n:1");
    assert_string_equal(ended->err, "");
    assert_int_equal(ended->status, 0);
    assert_int_equal(occurrences(ended->out, "\"run_type\": \"iteration\""), 6);
    assert_int_equal(occurrences(ended->out, "\"repetitions\": 6,"), 6 + 5);
    assert_int_equal(occurrences(ended->out, "\"processes\": 3,"), 1);
    const char *at = ended->out;
    for (int row = 0; row < 6; row++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "\"process\": %d\n", row / 2);
        at = strstr(at, "\"process\": ");
        assert_non_null(at);
        assert_int_equal(strncmp(at, expected, strlen(expected)), 0);
        at++;
    }
    assert_int_equal(occurrences(ended->out, "\"singles\""), 0);
    ended = program_with("--benchmark_processes=2", "--benchmark_format=csv",
                         "--benchmark_filter=left out|empty");
    assert_int_equal(ended->status, 1);
    assert_int_equal(rows_of(ended->out, "empty/n:1,"), 4);
    assert_int_equal(rows_of(ended->out, "empty/n:3,"), 4);
    assert_int_equal(rows_of(ended->out, "left out,,,,,,,,true,skipped\n"), 1);
}

TEST(test_ends_of_processes) {
    static const char begin[] = "spex: a process of the benchmarks";
    static const struct {
        const char *how, *said;
    } cases[] = {{"killed", " was killed by signal 9\n"},
                 {"5", " has exited with 5\n"},
                 {"0", ": Bad message\n"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        setenv("TEST_ENDS", cases[c].how, 1);
        const struct ended *ended = program("--benchmark_processes=2", "--benchmark_filter=ends");
        assert_int_equal(strncmp(ended->err, begin, strlen(begin)), 0);
        assert_string_equal(ended->err + strlen(begin), cases[c].said);
        assert_string_equal(ended->out, "");
        assert_int_equal(ended->status, 1);
    }
}

/* The processes of a program of benchmarks are this one again. */
int main(int argc, char **argv) {
    if (argc > 1)
        return spex_bench_main(argc, argv);
    return tests_run(NULL, NULL);
}
