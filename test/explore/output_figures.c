/* SPDX-License-Identifier: MIT */
/* What is found in a command's output, however it comes in parts: the last match of an expression, a
 * number of a JSON document, the last number; and what is said where there is none. */
#include <errno.h>
#include <math.h>

#include "explore/trial/output_figures.h"
#include "measure/criterion.h"
#include "scratch.h"

static struct spex_criterion criterion;
static const struct spex_space space = {
    .objective_count = 1, .criterion_count = 1, .criteria = &criterion};

/* Puts a text into a longer one, without its end. */
static void put(char *to, const char *text) {
    while (*text)
        *to++ = *text++;
}

/* Opens figures for one criterion. */
static struct spex_output_figures *open_figures(enum spex_criterion_source source,
                                                const char *metric) {
    struct spex_output_figures *figures;
    struct spex_error error;
    criterion = (struct spex_criterion){
        .probe = spex_criterion_source_names[source], .metric = metric, .goal = SPEX_MINIMISE};
    assert_int_equal(spex_output_figures_open(&space, &figures, &error), 0);
    return figures;
}

/* The figure of an output that comes in parts of so many bytes; NAN with the reason. */
static double figure_of(enum spex_criterion_source source, const char *metric, const char *output,
                        size_t length, size_t part, struct spex_error *error) {
    struct spex_output_figures *figures = open_figures(source, metric);
    struct spex_measured measured = {.value = NAN};
    for (size_t at = 0; at < length; at += part)
        spex_output_figures_add(figures, output + at, length - at < part ? length - at : part);
    int err = spex_output_figures_end(figures, &measured, error);
    assert_true(err == 0 || err == -ENODATA);
    spex_output_figures_close(figures);
    return err ? NAN : measured.value;
}

static void expect(enum spex_criterion_source source, const char *metric, const char *output,
                   double expected) {
    struct spex_error error = {""};
    for (size_t part = 1; part < 64; part = part * 2 + 1) {
        double found = figure_of(source, metric, output, strlen(output), part, &error);
        if (found != expected)
            fail_msg("%s in \"%s\": %g, not %g; %s", metric, output, found, expected, error.text);
    }
}

static void expect_none(enum spex_criterion_source source, const char *metric, const char *output,
                        const char *reason) {
    struct spex_error error = {""};
    assert_true(isnan(figure_of(source, metric, output, strlen(output), 7, &error)));
    if (!strstr(error.text, reason))
        fail_msg("%s in \"%s\": \"%s\", not \"%s\"", metric, output, error.text, reason);
}

TEST(lines) {
    static const char ops[] = "ops/sec: *([0-9.]+)";
    expect(SPEX_FROM_OUTPUT, ops, "ops/sec: 12.5\n", 12.5);
    expect(SPEX_FROM_OUTPUT, ops, "begin\nops/sec: 1\nops/sec: 2\nend", 2);
    expect(SPEX_FROM_OUTPUT, ops, "ops/sec: 1, ops/sec:3", 3);
    expect(SPEX_FROM_OUTPUT, ops, "ops/sec: 1\rops/sec: 4\r", 4);
    expect(SPEX_FROM_OUTPUT, "^([0-9]+)", "17 18\n", 17);
    expect(SPEX_FROM_OUTPUT, "([0-9]*)$", "x 19\n", 19);
    expect(SPEX_FROM_OUTPUT, "x([-+0-9.e]+)|y", "x-1e-3 y\n", -1e-3);
    expect(SPEX_FROM_OUTPUT, "([0-9]*)", "20 x\n", 20);
    expect_none(SPEX_FROM_OUTPUT, "([0-9]*)", "none\n", "was expected in its output");
    expect_none(SPEX_FROM_OUTPUT, ops, "", "a line that matches output=\"ops/sec: ");
    expect_none(SPEX_FROM_OUTPUT, ops, "ops/sec: many\n", "was expected in its output");
    expect_none(SPEX_FROM_OUTPUT, ops, "ops/sec: 1.2.3\n",
                "found \"1.2.3\", where a number was expected");
    expect_none(SPEX_FROM_OUTPUT, "(.*)", "nan\n", "where a number was expected");
    expect_none(SPEX_FROM_OUTPUT, "x([0-9]+)?", "x\n", "was expected in its output");
}

/* Of a longer line the beginning is looked at, and the next line again. */
TEST(long_lines) {
    size_t length = 3 * SPEX_OUTPUT_LINE_BYTES;
    char *output = malloc(length);
    struct spex_error error;
    assert_non_null(output);
    memset(output, 'x', length);
    put(output, "a=1");
    put(output + length / 2, "a=2");
    assert_true(figure_of(SPEX_FROM_OUTPUT, "a=([0-9])", output, length, 4096, &error) == 1);
    put(output + length - 5, "\na=3\n");
    assert_true(figure_of(SPEX_FROM_OUTPUT, "a=([0-9])", output, length, 4096, &error) == 3);
    memset(output, '\0', 8);
    put(output + 8, "a=4");
    assert_true(figure_of(SPEX_FROM_OUTPUT, "a=([0-9])", output, 12, 4096, &error) == 4);
    free(output);
}

TEST(documents) {
    expect(SPEX_FROM_JSON, "/results/1/ops", "{\"results\": [1, {\"ops\": 2.5}]}\n", 2.5);
    expect(SPEX_FROM_JSON, "/a~1b/~01/", "{\"a/b\": {\"~1\": {\"\": -3}}}", -3);
    expect(SPEX_FROM_JSON, "/0", "[7]", 7);
    expect_none(SPEX_FROM_JSON, "/a", "", "JSON was expected as its output");
    expect_none(SPEX_FROM_JSON, "/a", "{\n\"a\" 1}", "JSON was expected as its output; line 2: ");
    expect_none(SPEX_FROM_JSON, "/a", "{\"a\": 1} {}", "JSON was expected as its output");
    expect_none(SPEX_FROM_JSON, "/b", "{\"a\": 1}", "a number at /b of its JSON was expected; th");
    expect_none(SPEX_FROM_JSON, "/a/b", "{\"a\": 1}", "there is none");
    expect_none(SPEX_FROM_JSON, "/1", "[1]", "there is none");
    expect_none(SPEX_FROM_JSON, "/x", "[1]", "there is none");
    expect_none(SPEX_FROM_JSON, "/a", "{\"a\": \"1\"}", "was expected, not a text");
    expect_none(SPEX_FROM_JSON, "/a", "{\"a\": []}", "was expected, not an array");
    expect_none(SPEX_FROM_JSON, "/a", "{\"a\": null}", "was expected, not null");
}

TEST(long_documents) {
    struct spex_output_figures *figures = open_figures(SPEX_FROM_JSON, "/0");
    struct spex_measured measured = {.value = NAN};
    struct spex_error error = {""};
    char blanks[4096];
    memset(blanks, ' ', sizeof(blanks));
    for (size_t bytes = 0; bytes <= SPEX_OUTPUT_JSON_BYTES; bytes += sizeof(blanks))
        spex_output_figures_add(figures, blanks, sizeof(blanks));
    spex_output_figures_add(figures, "[1]", 3);
    assert_int_equal(spex_output_figures_end(figures, &measured, &error), -ENODATA);
    assert_string_equal(error.text, "JSON of at most 4 MiB was expected as its output");
    spex_output_figures_close(figures);
}

TEST(last_numbers) {
    static const struct {
        const char *output;
        double number;
    } cases[] = {{"1", 1},
                 {"score 2.5\n", 2.5},
                 {"1 2 -3.5e1 ms\n", -35},
                 {"12ms", 12},
                 {"p99 = 4, of v1.2.3", 4},
                 {"x=7)", 7},
                 {"8 ops\nok\n", 8},
                 {"9.", 9},
                 {"1-2", 2}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct spex_output_end end = {.length = 0};
        double number = NAN;
        for (size_t i = 0; i < strlen(cases[c].output); i++)
            spex_output_end_add(&end, cases[c].output + i, 1);
        assert_true(spex_output_end_number(&end, &number));
        if (number != cases[c].number)
            fail_msg("\"%s\": %g", cases[c].output, number);
    }
}

/* Of a long output the end is kept. */
TEST(long_outputs) {
    struct spex_output_end end = {.length = 0};
    double number = NAN;
    char text[3000];
    assert_false(spex_output_end_number(&end, &number));
    spex_output_end_add(&end, "5 v6 -", 6);
    memset(text, '.', sizeof(text));
    assert_true(spex_output_end_number(&end, &number) && number == 5);
    spex_output_end_add(&end, text, sizeof(text));
    assert_false(spex_output_end_number(&end, &number));
    put(text + sizeof(text) - 3, " 6\n");
    spex_output_end_add(&end, text, sizeof(text));
    assert_true(spex_output_end_number(&end, &number) && number == 6);
}
