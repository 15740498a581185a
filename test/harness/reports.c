/* SPDX-License-Identifier: MIT */
/* The reports of figures that are known: the whole table, CSV and JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include <spex/version.h>

#include "../comma_locale.h"
#include "harness/complexity.h"
#include "made_report.h"
#include "occurrences.h"

static const char console_expected[] =
    "warning: other programs are running: a load of 3.00 on 4 CPUs\n"
    "warning: this virtual machine has no invariant time stamp counter: ticks are d"
    "oubtful\n"
    "benchmark        time     95 %      CPU  mean CPU  repeated   p50     p90     "
    "p99   p99.9   max        bytes   items  per iteration\n"
    "sort/n:10    150.0 ns   ±1.3 %   140 ns    141 ns         6                   "
    "                                        faults=0 llc_misses=0 x,y=0\n"
    "sort/n:20    200.0 ns     ±1 %   190 ns    191 ns         6                   "
    "                                        faults=0 llc_misses=0 x,y=0\n"
    "sort/n:40    300.0 ns  ±0.67 %   290 ns    291 ns         6                   "
    "                                        faults=0 llc_misses=0 x,y=0\n"
    "sort/n:80    500.0 ns   ±0.4 %   490 ns    491 ns         6                   "
    "                                        faults=0 llc_misses=0 x,y=0\n"
    "sort/n:160   900.0 ns  ±0.22 %   890 ns    891 ns         6                   "
    "                                        faults=0 llc_misses=0 x,y=0\n"
    "other \"x\\y\"    2.5 µs       ±?  1.75 µs   1.85 µs         2  2 ns  3.5 ns  "
    "3.5 ns  3.5 ns  4 ns  1.526 GiB/s  48 M/s  faults=0.75 llc_misses=nan x,y=7 ow"
    "n=2.5 steps=1.5\n"
    "p50 to max are of single iterations, without the clock's own 20.5 ns\n"
    "sort: time = 1e-07 + 5e-09·n s; linear, adjusted R² 1.0000, constant 100.0 ns "
    "± 0.73 ns, term 5.000 ns ± 0.023 ns\n"
    "skipped, once: not measured: no \"file\"\n"
    "1 of 7 estimates are less precise than ±2 %: more time (--benchmark_max_time) "
    "or a machine with less to do would be needed\n";

TEST(test_console) {
    static struct made made;
    make(&made);
    setenv("COLUMNS", "200", 1);
    char *text = written(&made, spex_bench_report_console);
    unsetenv("COLUMNS");
    assert_string_equal(text, console_expected);
    free(text);
    /* Nothing is said of what there is not: doubts, estimates that are too wide, single iterations
     * and models. */
    made.machine.load[0] = 0;
    made.machine.invariant_ticks = true;
    made.settings.precision = 0.0134;
    made.settings.singles = false;
    made.sort.complexity = false;
    made.events.count = 0;
    made.instances.count = 1;
    text = written(&made, spex_bench_report_console);
    assert_string_equal(text, "benchmark      time    95 %     CPU  mean CPU  repeated\n"
                              "sort/n:10  150.0 ns  ±1.3 %  140 ns    141 ns         6\n");
    free(text);
    made_free(&made);
}

static const char csv_expected[] =
    "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second"
    ",label,error_occurred,error_message,faults,llc_misses,\"x,y\"\n"
    "sort/n:160,1000,898,888,ns,,,,,,0,0,0\n"
    "sort/n:160,1001,901,891,ns,,,,,,0,0,0\n"
    "sort/n:160,1002,900,890,ns,,,,,,0,0,0\n"
    "sort/n:160,1003,902,892,ns,,,,,,0,0,0\n"
    "sort/n:160,1004,899,889,ns,,,,,,0,0,0\n"
    "sort/n:160,1005,900,890,ns,,,,,,0,0,0\n"
    "\"other \"\"x\\y\"\"\",64,2000,1500,ns,2048000000,60000000,,,,0.25,3,7\n"
    "\"other \"\"x\\y\"\"\",64,3000,2000,ns,1365333333.33,40000000,,,,1.25,,7\n"
    "\"skipped, once\",,,,,,,,true,\"no \"\"file\"\"\"\n";

TEST(test_csv) {
    static struct made made;
    make(&made);
    made.instances = (struct spex_bench_instances){made.items + SIZES - 1, 3};
    char *text = written(&made, spex_bench_report_csv);
    assert_string_equal(text, csv_expected);
    free(text);
    made_free(&made);
}

/* A JSON text in one line, with single quotes. */
static char *flat(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\n') {
            from += strspn(from, "\n ") - 1;
            if (to > text && to[-1] == ',')
                *to++ = ' ';
        } else {
            *to++ = *from == '"' ? '\'' : *from;
        }
    }
    *to = '\0';
    return text;
}

static const char json_before_date[] = "{'context': {'date': '";
static const char json_after_date[] =
    "', 'host_name': 'host \\'a\\'', 'executable': '/bin/b', 'num_cpus': 4, "
    "'mhz_per_cpu': 2500.5, 'cpu_scaling_enabled': false, 'caches': [{'type': 'Data', "
    "'level': 1, 'size': 32768, 'num_sharing': 2}, "
    "{'type': 'Unified', 'level': 2, 'size': 1048576, 'num_sharing': 8}], 'load_avg': [3.00, "
    "0.50, 0.25], 'library_version': 'spex " SPEX_VERSION "', 'library_build_type': 'release', "
    "'json_schema_version': 1, 'seed': 12345, 'processes': 2, "
    "'ticks_per_second': 2000000000, 'clock_ns': 20.5, 'invariant_ticks': false, "
    "'virtual_machine': true}, ";
static const char json_rows[] =
    "'benchmarks': [{'name': 'other \\'x\\\\y\\'', 'family_index': 1, "
    "'per_family_instance_index': 0, 'run_name': 'other \\'x\\\\y\\'', "
    "'run_type': 'iteration', 'repetitions': 2, 'threads': 4, 'repetition_index': 0, "
    "'iterations': 64, 'real_time': 2000, 'cpu_time': 1500, 'time_unit': 'ns', "
    "'ticks': 4000, 'mean_real_time': 2500, 'mean_cpu_time': 1600, 'process': 0, "
    "'bytes_per_second': 2048000000, 'items_per_second': 60000000, 'faults': 0.25, "
    "'llc_misses': 3, 'x,y': 7, 'own': 2.5, 'steps': 1.5}, "
    "{'name': 'other \\'x\\\\y\\'', 'family_index': 1, 'per_family_instance_index': 0, "
    "'run_name': 'other \\'x\\\\y\\'', 'run_type': 'iteration', 'repetitions': 2, "
    "'threads': 4, 'repetition_index': 1, 'iterations': 64, 'real_time': 3000, "
    "'cpu_time': 2000, 'time_unit': 'ns', 'ticks': 6000, 'mean_real_time': 3500, "
    "'mean_cpu_time': 2100, 'process': 1, 'bytes_per_second': 1365333333.33, "
    "'items_per_second': 40000000, 'faults': 1.25, 'x,y': 7, 'own': 3, 'steps': 1.5}, "
    "{'name': 'other \\'x\\\\y\\'_mean', 'family_index': 1, 'per_family_instance_index': 0, "
    "'run_name': 'other \\'x\\\\y\\'', 'run_type': 'aggregate', 'repetitions': 2, "
    "'threads': 4, 'aggregate_name': 'mean', 'aggregate_unit': 'time', 'iterations': 2, "
    "'real_time': 2500, 'cpu_time': 1750, 'time_unit': 'ns'}, "
    "{'name': 'other \\'x\\\\y\\'_median', 'family_index': 1, "
    "'per_family_instance_index': 0, 'run_name': 'other \\'x\\\\y\\'', "
    "'run_type': 'aggregate', 'repetitions': 2, 'threads': 4, 'aggregate_name': 'median', "
    "'aggregate_unit': 'time', 'iterations': 2, 'real_time': 2500, 'cpu_time': 1750, "
    "'time_unit': 'ns'}, "
    "{'name': 'other \\'x\\\\y\\'_stddev', 'family_index': 1, "
    "'per_family_instance_index': 0, 'run_name': 'other \\'x\\\\y\\'', "
    "'run_type': 'aggregate', 'repetitions': 2, 'threads': 4, 'aggregate_name': 'stddev', "
    "'aggregate_unit': 'time', 'iterations': 2, 'real_time': 707.106781187, "
    "'cpu_time': 353.553390593, 'time_unit': 'ns'}, "
    "{'name': 'other \\'x\\\\y\\'_cv', 'family_index': 1, 'per_family_instance_index': 0, "
    "'run_name': 'other \\'x\\\\y\\'', 'run_type': 'aggregate', 'repetitions': 2, "
    "'threads': 4, 'aggregate_name': 'cv', 'aggregate_unit': 'percentage', 'iterations': 2, "
    "'real_time': 0.282842712475, 'cpu_time': 0.20203050891, 'time_unit': 'ns'}, "
    "{'name': 'other \\'x\\\\y\\'_estimate', 'family_index': 1, "
    "'per_family_instance_index': 0, 'run_name': 'other \\'x\\\\y\\'', "
    "'run_type': 'aggregate', 'repetitions': 2, 'threads': 4, 'aggregate_name': 'estimate', "
    "'aggregate_unit': 'time', 'iterations': 2, 'real_time': 2500, 'cpu_time': 1750, "
    "'time_unit': 'ns', 'mean_real_time': 3000, 'mean_cpu_time': 1850, 'precise': false, "
    "'p50': 2, 'p90': 3.5, 'p99': 3.5, 'p99.9': 3.5, 'max': 4, 'singles': 7003}, "
    "{'name': 'skipped, once', 'family_index': 2, 'per_family_instance_index': 0, "
    "'run_name': 'skipped, once', 'run_type': 'iteration', 'repetitions': 0, 'threads': 1, "
    "'error_occurred': true, 'error_message': 'no \\'file\\'', 'iterations': 0, "
    "'real_time': 0, 'cpu_time': 0, 'time_unit': 'ns'}]}";

/* The date is now; returns its end. */
static const char *date_expected(const char *text, time_t begun) {
    struct tm date = {0};
    char *end = strptime(text, "%Y-%m-%dT%H:%M:%S%z", &date);
    assert_non_null(end);
    long beyond = date.tm_gmtoff;
    time_t at = timegm(&date) - beyond;
    assert_true(at >= begun && at <= time(NULL));
    return end;
}

TEST(test_json) {
    static struct made made;
    time_t begun = time(NULL);
    make(&made);
    made.instances = (struct spex_bench_instances){made.items + SIZES, 2};
    char *text = flat(written(&made, spex_bench_report_json));
    assert_memory_equal(text, json_before_date, strlen(json_before_date));
    const char *after = date_expected(text + strlen(json_before_date), begun);
    assert_memory_equal(after, json_after_date, strlen(json_after_date));
    assert_string_equal(after + strlen(json_after_date), json_rows);
    free(text);
    made_free(&made);
}

static const char json_first[] =
    "'benchmarks': [{'name': 'sort/n:10_mean', 'family_index': 0, "
    "'per_family_instance_index': 0, 'run_name': 'sort/n:10', 'run_type': 'aggregate', "
    "'repetitions': 6, 'threads': 1, 'aggregate_name': 'mean', 'aggregate_unit': 'time', "
    "'iterations': 6, 'real_time': 150, 'cpu_time': 140, 'time_unit': 'ns'}, "
    "{'name': 'sort/n:10_median', 'family_index': 0, 'per_family_instance_index': 0, "
    "'run_name': 'sort/n:10', 'run_type': 'aggregate', 'repetitions': 6, 'threads': 1, "
    "'aggregate_name': 'median', 'aggregate_unit': 'time', 'iterations': 6, "
    "'real_time': 150, 'cpu_time': 140, 'time_unit': 'ns'}, "
    "{'name': 'sort/n:10_stddev', 'family_index': 0, 'per_family_instance_index': 0, "
    "'run_name': 'sort/n:10', 'run_type': 'aggregate', 'repetitions': 6, 'threads': 1, "
    "'aggregate_name': 'stddev', 'aggregate_unit': 'time', 'iterations': 6, "
    "'real_time': 1.41421356237, 'cpu_time': 1.41421356237, 'time_unit': 'ns'}, "
    "{'name': 'sort/n:10_cv', 'family_index': 0, 'per_family_instance_index': 0, "
    "'run_name': 'sort/n:10', 'run_type': 'aggregate', 'repetitions': 6, 'threads': 1, "
    "'aggregate_name': 'cv', 'aggregate_unit': 'percentage', 'iterations': 6, "
    "'real_time': 0.00942809041582, 'cpu_time': 0.0101015254455, 'time_unit': 'ns'}, "
    "{'name': 'sort/n:10_estimate', 'family_index': 0, 'per_family_instance_index': 0, "
    "'run_name': 'sort/n:10', 'run_type': 'aggregate', 'repetitions': 6, 'threads': 1, "
    "'aggregate_name': 'estimate', 'aggregate_unit': 'time', 'iterations': 6, "
    "'real_time': 150, 'cpu_time': 140, 'time_unit': 'ns', 'real_time_low': 148, "
    "'real_time_high': 152, 'mean_real_time': 200.000498753, 'mean_cpu_time': 141.000498753, "
    "'precise': true}, ";
static const char json_last[] =
    "{'name': 'sort_BigO', 'run_name': 'sort', 'run_type': 'aggregate', "
    "'aggregate_name': 'BigO', 'time_unit': 'ns', 'big_o': 'linear', "
    "'model_seconds': '1e-07 + 5e-09·n', 'adjusted_r2': 1, 'constant': 100, "
    "'constant_interval': [99.2669732995, 100.7330267], 'term1': 5, "
    "'term1_interval': [4.97729652134, 5.02270347866]}]}";

/* Without the single repetitions; a model of the family stands behind. */
TEST(test_json_of_aggregates) {
    static struct made made;
    make(&made);
    made.instances = (struct spex_bench_instances){made.items, SIZES};
    made.report.aggregates_only = true;
    char *text = flat(written(&made, spex_bench_report_json));
    const char *begin = strstr(text, "'benchmarks'");
    assert_non_null(begin);
    assert_memory_equal(begin, json_first, strlen(json_first));
    assert_true(strlen(begin) > strlen(json_last));
    assert_string_equal(begin + strlen(begin) - strlen(json_last), json_last);
    assert_int_equal(occurrences(begin, "'name'"), 5 * SIZES + 1);
    assert_int_equal(occurrences(begin, "'precise': true"), SIZES);
    free(text);
    made_free(&made);
}

static void assert_near(double value, double expected, double margin) {
    assert_true(fabs(value - expected) <= margin);
}

/* A model is one of a family that asks for it, of its instances with as many threads as the
 * first. */
TEST(test_models) {
    static struct made made;
    struct spex_fit fit;
    size_t next;
    make(&made);
    assert_int_equal(spex_bench_complexity(&made.instances, 0, &next, &fit), 0);
    assert_int_equal(next, SIZES);
    assert_int_equal(fit.model.class, SPEX_MODEL_LINEAR);
    assert_near(fit.model.constant, 100e-9, 1e-12);
    assert_near(fit.model.terms[0].coefficient, 5e-9, 1e-14);
    assert_int_equal(spex_bench_complexity(&made.instances, 1, &next, &fit), 0);
    assert_int_equal(next, SIZES);
    assert_int_equal(spex_bench_complexity(&made.instances, SIZES, &next, &fit), -ENODATA);
    assert_int_equal(next, SIZES + 1);
    assert_int_equal(spex_bench_complexity(&made.instances, SIZES + 1, &next, &fit), -ENODATA);
    assert_int_equal(next, INSTANCES);
    made.items[2].threads = 2;
    for (size_t r = 0; r < REPEATED; r++)
        made.items[2].figures.repetitions[r].time.real_ns = 1e6;
    assert_int_equal(spex_bench_complexity(&made.instances, 0, &next, &fit), 0);
    assert_near(fit.model.terms[0].coefficient, 5e-9, 1e-14);
    const struct spex_model none = {.freedom = 0}, ten = {.freedom = 10};
    assert_true(isinf(spex_bench_complexity_margin(&none, 1)));
    assert_near(spex_bench_complexity_margin(&ten, 2), 2 * 2.228, 0.001);
    made_free(&made);
}

/* Each formula has the range in which it holds. */
TEST(test_a_model_that_changes) {
    enum { MANY = 12 };
    static struct made made;
    static struct spex_bench_instance items[MANY];
    static struct spex_bench_repetition repetitions[MANY][REPEATED];
    make(&made);
    for (size_t i = 0; i < MANY; i++) {
        items[i] = made.items[0];
        items[i].args[0] = INT64_C(10) << i;
        items[i].figures.repetitions = repetitions[i];
        for (size_t r = 0; r < REPEATED; r++) {
            double n = (double)items[i].args[0];
            repetitions[i][r] = made.items[0].figures.repetitions[r];
            repetitions[i][r].time.real_ns = n * (n < 1000 ? 5 : 10) * (1 + 1e-3 * (double)r);
        }
    }
    made.instances = (struct spex_bench_instances){items, MANY};
    char *text = written(&made, spex_bench_report_console);
    assert_non_null(strstr(text, "sort: time in seconds = 5.0125e-09·n (n < 905.097); "
                                 "1.0025e-08·n (n ≥ 905.097); linear, adjusted R² 1.0000, term "));
    free(text);
    text = written(&made, spex_bench_report_json);
    assert_non_null(strstr(text, "\"big_o\": \"linear\",\n      \"model_seconds\": "
                                 "\"5.0125e-09·n (n < 905.097); 1.0025e-08·n (n ≥ 905.097)\""));
    free(text);
    made_free(&made);
}

/* As many figures as there can be, with names as long as they can be, are cut at the end. */
TEST(test_long_notes) {
    static struct made made;
    char whole[2048] = "", name[SPEX_BENCH_TEXT_BYTES];
    size_t length = 0;
    make(&made);
    struct spex_bench_figures *figures = &made.items[SIZES].figures;
    made.events.count = SPEX_BENCH_EVENTS_MAX;
    for (size_t e = 0; e < SPEX_BENCH_EVENTS_MAX; e++) {
        snprintf(name, sizeof(name), "%063zu", e);
        memcpy(made.events.items[e].name, name, 64);
        for (size_t r = 0; r < figures->count; r++)
            figures->repetitions[r].events[e] = (double)e;
        length += (size_t)snprintf(whole + length, sizeof(whole) - length, "%s%s=%zu", e ? " " : "",
                                   name, e);
    }
    figures->repetitions[0].own_count = SPEX_BENCH_COUNTERS_MAX;
    for (size_t c = 0; c < SPEX_BENCH_COUNTERS_MAX; c++) {
        struct spex_bench_own *own = &figures->repetitions[0].own[c];
        *own = (struct spex_bench_own){.sum = 3 * (double)c, .count = 3};
        snprintf(name, sizeof(name), "%031zu", c);
        memcpy(own->name, name, 32);
        length += (size_t)snprintf(whole + length, sizeof(whole) - length, " %s=%zu", own->name, c);
    }
    assert_true(length > 1023);
    strcpy(whole + 1023, "\n");
    made.instances = (struct spex_bench_instances){&made.items[SIZES], 1};
    setenv("COLUMNS", "2000", 1);
    char *text = written(&made, spex_bench_report_console);
    unsetenv("COLUMNS");
    assert_non_null(strstr(text, whole));
    free(text);
    made_free(&made);
}

static void nothing(struct spex_bench_state *state) {
    (void)state;
}

/* The last test, since what is registered stays. */
TEST(test_without_optimisation) {
    static struct made made;
    spex_benchmark_add("optimised", nothing, 1);
    assert_true(spex_bench_optimised());
    spex_benchmark_add("not", nothing, 0);
    assert_false(spex_bench_optimised());
    make(&made);
    char *text = written(&made, spex_bench_report_console);
    assert_non_null(strstr(text, "\nwarning: the benchmarks are compiled without optimisation\n"));
    free(text);
    text = written(&made, spex_bench_report_json);
    assert_non_null(strstr(text, "\"library_build_type\": \"debug\""));
    free(text);
    made_free(&made);
}
