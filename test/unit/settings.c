/* SPDX-License-Identifier: MIT */
/* Each setting: what it is where nobody sets it, by an option of the program, and by the
 * environment, which wins; the bounds of numbers; and what is said of wrong ones. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "counters/ways.h"
#include "messages.h"
#include "policies/rate/rates.h"
#include "queues/commit_rseq.h"
#include "start/settings.h"
#include "text/variables.h"

static struct spex_options options;
static struct spex_settings settings;

/* Each variable has a value that says nothing, given by test/meson.build. By hand, with no variable
 * of spex at all, the user's environment is as it is. */
TEST(the_users_environment_does_not_reach_tests) {
    if (!getenv("SPEX_PROBES"))
        skip();
    for (enum spex_variable v = 0; v < SPEX_VARIABLES; v++)
        if (!getenv(spex_variable_name(v)))
            fail_msg("%s is not in `quiet` of test/meson.build", spex_variable_name(v));
}

static int begin(void **state) {
    (void)state;
    options = (struct spex_options){.size = sizeof(options)};
    return clearenv();
}

static void read_well(void) {
    memset(&settings, 0xff, sizeof(settings));
    messages_begin();
    int err = spex_settings_read(&options, &settings);
    const char *messages = messages_end();
    assert_string_equal(messages, "");
    assert_int_equal(err, 0);
}

static void expect_refused(const char *expected) {
    char line[512];
    snprintf(line, sizeof(line), "spex: %s\n", expected);
    messages_begin();
    int err = spex_settings_read(&options, &settings);
    const char *messages = messages_end();
    assert_int_equal(err, -EINVAL);
    assert_string_equal(messages, line);
    assert_null(settings.rate_object.handle);
}

static void expect_defaults(void) {
    assert_null(settings.probes);
    assert_null(settings.functions);
    assert_null(settings.out);
    assert_int_equal(settings.handover.number, -1);
    assert_true(settings.budget == 0 && settings.thread_budget == 0);
    assert_ptr_equal(settings.rate_policy, spex_builtin_rate_policy("fair"));
    assert_null(settings.rate_object.handle);
    assert_null(settings.models);
    assert_true(settings.samples == 10);
    assert_int_equal(settings.probing, 100);
    assert_int_equal(settings.collectors, 1);
    assert_int_equal(settings.ring_records, 8192);
    assert_int_equal(settings.batch_records, 2000);
    assert_int_equal(settings.ring_cpus, 0);
    assert_int_equal(settings.commit,
                     spex_rseq_available() ? SPEX_COMMIT_RSEQ : SPEX_COMMIT_ATOMIC);
    assert_int_equal(settings.calibrate, 1);
    assert_false(settings.closed);
    assert_false(settings.polls);
    assert_null(settings.control);
    assert_false(settings.follow);
}

TEST_WITH(without_options_there_are_defaults, begin, NULL) {
    static const char *const names[] = {
        "PROBES",  "FUNCTIONS", "OUT",      "OUT_SOCKET", "BUDGET",      "THREAD_BUDGET", "MODELS",
        "SAMPLES", "CONTROL",   "COUNTERS", "FORKS",      "RATE_POLICY", "COLLECTORS"};
    read_well();
    expect_defaults();
    memset(&settings, 0xff, sizeof(settings));
    assert_int_equal(spex_settings_read(NULL, &settings), 0);
    expect_defaults();
    for (size_t n = 0; n < COUNT_OF(names); n++) { /* empty ones are none */
        char name[64];
        snprintf(name, sizeof(name), "SPEX_%s", names[n]);
        setenv(name, "", 1);
    }
    options.probes = options.functions = options.out = options.models = options.control = "";
    options.budget = options.thread_budget = options.rate_policy = options.commit = "";
    read_well();
    expect_defaults();
}

static void expect_texts(const char *probes, const char *functions, const char *out,
                         const char *models, const char *control) {
    assert_string_equal(settings.probes, probes);
    assert_string_equal(settings.functions, functions);
    assert_string_equal(settings.out, out);
    assert_string_equal(settings.models, models);
    assert_string_equal(settings.control, control);
}

static void expect_numbers(unsigned collectors, unsigned ring_records, unsigned batch_records,
                           unsigned ring_cpus, unsigned calibrate) {
    assert_int_equal(settings.collectors, collectors);
    assert_int_equal(settings.ring_records, ring_records);
    assert_int_equal(settings.batch_records, batch_records);
    assert_int_equal(settings.ring_cpus, ring_cpus);
    assert_int_equal(settings.calibrate, calibrate);
}

static void expect_rest(const char *policy, enum spex_commit commit, double budget,
                        double thread_budget, double samples) {
    assert_ptr_equal(settings.rate_policy, spex_builtin_rate_policy(policy));
    assert_int_equal(settings.commit, commit);
    assert_true(fabs(settings.budget - budget) < 1e-12);
    assert_true(fabs(settings.thread_budget - thread_budget) < 1e-12);
    assert_true(settings.samples == samples);
}

TEST_WITH(the_environment_wins, begin, NULL) {
    options = (struct spex_options){.size = sizeof(options),
                                    .probes = "a",
                                    .functions = "b",
                                    .out = "c",
                                    .models = "d",
                                    .control = "/e",
                                    .commit = "atomic",
                                    .rate_policy = "budget",
                                    .budget = "2%",
                                    .thread_budget = "3%",
                                    .samples = 7.5,
                                    .collectors = 3,
                                    .ring_records = 16,
                                    .batch_records = 5,
                                    .ring_cpus = 2,
                                    .polls = true};
    read_well();
    expect_texts("a", "b", "c", "d", "/e");
    expect_numbers(3, 16, 5, 2, 1);
    expect_rest("budget", SPEX_COMMIT_ATOMIC, 0.02, 0.03, 7.5);
    assert_int_equal(settings.probing, 100);
    assert_true(settings.polls);
    static const char *const variables[][2] = {
        {"PROBES", "A"},        {"FUNCTIONS", "B"},     {"OUT", "C"},
        {"MODELS", "D"},        {"CONTROL", "/E"},      {"RATE_POLICY", "fixed"},
        {"BUDGET", "4%"},       {"SAMPLES", "0.5"},     {"THREAD_BUDGET", "5%"},
        {"COLLECTORS", "4"},    {"RING_RECORDS", "32"}, {"BATCH_RECORDS", "6"},
        {"RING_CPUS", "0"},     {"PROBING", "77"},      {"FORKS", "follow"},
        {"OUT_SOCKET", "5:6:7"}};
    for (size_t v = 0; v < COUNT_OF(variables); v++) {
        char name[64];
        snprintf(name, sizeof(name), "SPEX_%s", variables[v][0]);
        setenv(name, variables[v][1], 1);
    }
    read_well();
    expect_texts("A", "B", "C", "D", "/E");
    expect_numbers(4, 32, 6, 0, 1);
    expect_rest("fixed", SPEX_COMMIT_ATOMIC, 0.04, 0.05, 0.5);
    assert_int_equal(settings.probing, 77);
    assert_true(settings.follow);
    assert_int_equal(settings.handover.number, 5);
    assert_int_equal(settings.handover.device, 6);
    assert_int_equal(settings.handover.inode, 7);
}

/* The lowest and highest are taken, those beyond refused; of powers of two those between. */
TEST_WITH(numbers_have_bounds, begin, NULL) {
    static const struct {
        const char *name;
        unsigned *value;
        unsigned low, high;
        const char *what;
    } cases[] = {
        {"SPEX_COLLECTORS", &settings.collectors, 1, 64, "a number"},
        {"SPEX_PROBING", &settings.probing, 1, 1000, "a number"},
        {"SPEX_RING_RECORDS", &settings.ring_records, 2, 1 << 24, "a power of two"},
        {"SPEX_BATCH_RECORDS", &settings.batch_records, 1, 4096, "a number"},
        {"SPEX_RING_CPUS", &settings.ring_cpus, 0, 65535, "a number"},
        {"SPEX_CALIBRATE", &settings.calibrate, 0, 1, "a number"},
        {"SPEX_VERBOSE", &settings.verbose, 0, 1, "a number"},
    };
    char text[32], line[256];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        unsigned good[] = {cases[c].low, cases[c].high};
        unsigned bad[] = {cases[c].high + 1, cases[c].low - 1, 3};
        unsigned bad_count = cases[c].value == &settings.ring_records ? 3 : cases[c].low ? 2 : 1;
        for (unsigned g = 0; g < COUNT_OF(good); g++) {
            snprintf(text, sizeof(text), "%u", good[g]);
            setenv(cases[c].name, text, 1);
            read_well();
            assert_int_equal(*cases[c].value, good[g]);
        }
        for (unsigned b = 0; b < bad_count; b++) {
            snprintf(text, sizeof(text), "%u", bad[b]);
            setenv(cases[c].name, text, 1);
            if (bad[b] > 1 << 24)
                snprintf(line, sizeof(line), "%s=%s: a number was expected", cases[c].name, text);
            else
                snprintf(line, sizeof(line), "%s=%s: %s of %u to %u was expected", cases[c].name,
                         text, cases[c].what, cases[c].low, cases[c].high);
            expect_refused(line);
        }
        static const char *const none[] = {
            "x", "1x", " 1", "+1", "-1", "1 ", "0x1", "1.0", "99999999999999999999"};
        for (size_t n = 0; n < COUNT_OF(none); n++) {
            setenv(cases[c].name, none[n], 1);
            snprintf(line, sizeof(line), "%s=%s: a number was expected", cases[c].name, none[n]);
            expect_refused(line);
        }
        unsetenv(cases[c].name);
    }
}

/* Where all records are kept, rings have room for more. */
TEST_WITH(traces_have_larger_rings, begin, NULL) {
    static const struct {
        const char *out;
        unsigned records;
    } cases[] = {{"ctf:folder", 32768},
                 {"record:/path", 32768},
                 {"unix:/path", 8192},
                 {"ctf", 8192},
                 {"a/ctf:folder", 8192}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        options.out = cases[c].out;
        read_well();
        assert_int_equal(settings.ring_records, cases[c].records);
        setenv("SPEX_RING_RECORDS", "64", 1);
        read_well();
        assert_int_equal(settings.ring_records, 64);
        unsetenv("SPEX_RING_RECORDS");
    }
}

TEST_WITH(ways_of_committing, begin, NULL) {
    setenv("SPEX_COMMIT", "atomic", 1);
    read_well();
    assert_int_equal(settings.commit, SPEX_COMMIT_ATOMIC);
    setenv("SPEX_COMMIT", "rseq", 1);
    if (spex_rseq_available()) {
        read_well();
        assert_int_equal(settings.commit, SPEX_COMMIT_RSEQ);
    } else {
        expect_refused("SPEX_COMMIT=rseq: this process has no restartable sequences");
    }
    setenv("SPEX_COMMIT", "rseqs", 1);
    expect_refused("SPEX_COMMIT=rseqs: rseq or atomic was expected");
}

TEST_WITH(the_control_socket, begin, NULL) {
    options.control = "off";
    read_well();
    assert_true(settings.closed);
    assert_null(settings.control);
    setenv("SPEX_CONTROL", "/there", 1);
    read_well();
    assert_false(settings.closed);
    assert_string_equal(settings.control, "/there");
    setenv("SPEX_CONTROL", "there", 1);
    expect_refused("SPEX_CONTROL=there: an absolute path or \"off\" was expected");
    setenv("SPEX_CONTROL", "off/", 1);
    expect_refused("SPEX_CONTROL=off/: an absolute path or \"off\" was expected");
}

static void expect_variable_refused(const char *variable, const char *text, const char *why) {
    char line[512];
    setenv(variable, text, 1);
    snprintf(line, sizeof(line), "%s=%s: %s", variable, text, why);
    expect_refused(line);
    unsetenv(variable);
}

TEST_WITH(wrong_ones_are_refused, begin, NULL) {
    expect_variable_refused("SPEX_BUDGET", "x",
                            "a percentage of the program's CPU time, above 0% and up to 100%, was "
                            "expected, such as 2%");
    expect_variable_refused(
        "SPEX_THREAD_BUDGET", "0.02",
        "a percentage of a thread's time, above 0% and up to 100%, was expected, such as 2%");
    expect_variable_refused("SPEX_FORKS", "Follow", "\"follow\" was expected");
    expect_variable_refused("SPEX_FORKS", "follow ", "\"follow\" was expected");
    expect_variable_refused("SPEX_SAMPLES", "0.001", "a number of 0.01 to 1000000 was expected");
    expect_variable_refused("SPEX_SAMPLES", "1000001", "a number of 0.01 to 1000000 was expected");
    expect_variable_refused("SPEX_COUNTERS", "x",
                            "names of fault-records, switch-count, switch-records, rdpmc, read, "
                            "rusage, none were expected");
    options.samples = -1;
    read_well();
    assert_true(settings.samples == 10);
    options.size--;
    char line[128];
    snprintf(line, sizeof(line), "spex_start: struct spex_options has %zu bytes here, not %zu",
             sizeof(options), sizeof(options) - 1);
    expect_refused(line);
}

/* What probes spend is known by their costs alone. */
TEST_WITH(budgets_need_costs, begin, NULL) {
    static const char *const names[] = {"SPEX_BUDGET", "SPEX_THREAD_BUDGET"};
    options.no_calibration = true;
    read_well();
    assert_int_equal(settings.calibrate, 0);
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        char line[256];
        setenv(names[n], "2%", 1);
        snprintf(line, sizeof(line),
                 "%s: a budget cannot be kept with SPEX_CALIBRATE=0, which leaves costs unknown",
                 names[n]);
        expect_refused(line);
        setenv("SPEX_CALIBRATE", "1", 1);
        read_well();
        assert_int_equal(settings.calibrate, 1);
        unsetenv("SPEX_CALIBRATE");
        unsetenv(names[n]);
    }
}

TEST_WITH(counters_are_allowed, begin, NULL) {
    setenv("SPEX_COUNTERS", "read,rusage", 1);
    read_well();
    assert_true(spex_way_allowed(SPEX_WAY_READ) && spex_way_allowed(SPEX_WAY_RUSAGE));
    assert_false(spex_way_allowed(SPEX_WAY_RDPMC));
    unsetenv("SPEX_COUNTERS");
    read_well();
    assert_true(spex_way_allowed(SPEX_WAY_RDPMC));
}

TEST_WITH(policies_by_name, begin, NULL) {
    static const char *const names[] = {"fair", "budget", "fixed"};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        setenv("SPEX_RATE_POLICY", names[n], 1);
        read_well();
        assert_string_equal(settings.rate_policy->name, names[n]);
    }
    setenv("SPEX_RATE_POLICY", "/nowhere/at/all", 1);
    messages_begin();
    int err = spex_settings_read(&options, &settings);
    const char *messages = messages_end();
    assert_int_equal(err, -EINVAL);
    static const char begins[] =
        "spex: SPEX_RATE_POLICY=/nowhere/at/all: a shared object was expected: ";
    assert_int_equal(strncmp(messages, begins, strlen(begins)), 0);
}
