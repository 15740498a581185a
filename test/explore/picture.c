/* SPDX-License-Identifier: MIT */
/* The scripts of pictures of trials whose truth is known: every value is at its place, and what is
 * drawn lies within the page. */
#include <errno.h>

#include "explore/picture/picture_axis.h"
#include "explore/picture/picture_values.h"
#include "picture_bench.h"

/* Parameters by the share of the variance that they explain, without those of one value. */
TEST(effects) {
    struct spex_study study;
    double values[3][3];
    begin(&study, "<space name='s'><parameter name='one' type='integer' values='1'/>"
                  "<parameter name='weak' type='categorical' values='p q'/>"
                  "<parameter name='strong' type='integer' values='1 2 4'/>" OBJECTIVE "</space>");
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < 3; s++)
            for (size_t w = 0; w < 2; w++)
                add(&study, (size_t[]){0, w, s},
                    (double[]){100 * (double)(s + 1) + 60 * (double)w});
    find(&study);
    char *script = script_of(&study, spex_draw_effects, 0, false);
    assert_true(strstr(script, "$effect2 <<") < strstr(script, "$effect1 <<"));
    assert_null(strstr(script, "$effect0"));
    assert_int_equal(data_of(script, "effect2", values[0], 3), 3);
    for (size_t s = 0; s < 3; s++) {
        double at = (double)s;
        assert_true(values[s][0] == at && fabs(values[s][1] - 100 * (at + 1) - 30) < 1e-6);
        assert_true(fabs(values[s][2] - 100 * (at + 1) - 60) < 1e-6);
    }
    /* Sums of squares of 40000 with 2 degrees of freedom and 5400 with 1: Kelley's epsilon². */
    double strong, weak;
    assert_int_equal(sscanf(after(script, "set title '"), "%lf %% of the variance'", &strong), 1);
    assert_int_equal(sscanf(after(after(script, "$effect1 <<"), "set title '"), "%lf %%", &weak),
                     1);
    assert_true(strong == 80 && weak == 0);
    expect_once(script, "plot $effect2 using 1:3 with linespoints");
    expect_once(script, "plot $effect1 using 1:3 with points");
    expect_layout(script, 1, 2);
    free(script);
    end(&study);
}

/* Each parameter has a panel, three in a row, and no more than 16 of them. */
TEST(panels_of_effects) {
    for (size_t parameters = 1; parameters <= 20; parameters++) {
        char xml[4096] = "<space name='s'>";
        size_t levels[20] = {0}, shown = parameters < 16 ? parameters : 16;
        struct spex_study study;
        for (size_t p = 0; p < parameters; p++)
            snprintf(xml + strlen(xml), sizeof(xml) - strlen(xml),
                     "<parameter name='p%zu' type='integer' values='1 2'/>", p);
        strcat(xml, OBJECTIVE "</space>");
        begin(&study, xml);
        add(&study, levels, (double[]){1});
        find(&study);
        char *script = script_of(&study, spex_draw_effects, 0, false);
        expect_layout(script, ceil((double)shown / 3), (double)(shown < 3 ? shown : 3));
        assert_int_equal(times_in(script, "\nplot $effect"), shown);
        /* None explains anything: they stay in the order of the space. */
        const char *at = script;
        for (size_t p = 0; p < shown; p++) {
            char plot[64];
            snprintf(plot, sizeof(plot), "\nplot $effect%zu ", p);
            at = after(at, plot);
        }
        assert_non_null(strstr(script, "unset multiplot\n"));
        free(script);
        end(&study);
    }
    struct spex_study study;
    begin(&study,
          "<space name='s'><parameter name='a' type='integer' values='1'/>" OBJECTIVE "</space>");
    find(&study);
    free(script_of(&study, spex_draw_effects, -EINVAL, false));
    free(script_of(&study, spex_draw_heatmap, -EINVAL, false));
    free(script_of(&study, spex_draw_pareto, -EINVAL, false));
    end(&study);
}

#define LATENCY "<objective probe='q:lat' metric='p99' goal='minimise'/>"

TEST(pareto) {
    static const double means[][2] = {{100, 1}, {200, 2}, {400, 4}, {150, 3}};
    struct spex_study study;
    double values[4][2];
    begin(&study,
          "<space name='s'><parameter name='a' type='integer' min='1' max='5'/>" OBJECTIVE LATENCY
          "</space>");
    for (size_t a = 0; a < 4; a++)
        for (int t = 0; t < 6; t++) {
            double by = t % 2 ? 1.001 : 0.999;
            add(&study, &a, (double[]){means[a][0] * by, means[a][1] / by});
        }
    find(&study);
    char *script = script_of(&study, spex_draw_pareto, 0, false);
    /* From the highest throughput down, so that a line connects neighbours. */
    assert_int_equal(data_of(script, "front", values[0], 2), 3);
    for (size_t f = 0; f < 3; f++)
        assert_true(fabs(values[f][0] - means[2 - f][0]) < 1e-6 &&
                    fabs(values[f][1] - means[2 - f][1]) < 1e-3);
    expect_once(script, "$front using 1:2 with lines");
    /* A row of NaN ends the points. */
    assert_int_equal(data_of(script, "others", values[0], 2), 2);
    assert_true(fabs(values[0][0] - 150) < 1e-6 && isnan(values[1][0]) && isnan(values[1][1]));
    assert_int_equal(data_of(script, "sure", values[0], 2), 4);
    assert_true(fabs(values[0][0] - 100) < 1e-6 && fabs(values[2][0] - 400) < 1e-6);
    assert_int_equal(data_of(script, "perhaps", values[0], 2), 1);
    assert_int_equal(data_of(script, "unsure", values[0], 2), 1);
    expect_once(script, "multiplot layout 1,1 ");
    expect_once(script, "set xlabel 'throughput of q:tpt [/s]'");
    expect_once(script, "set ylabel 'p99 of q:lat [s]'");
    free(script);
    end(&study);
}

/* The first objective against each other one; nothing is connected. */
TEST(pareto_of_four) {
    struct spex_study study;
    begin(&study,
          "<space name='s'><parameter name='a' type='integer' min='1' max='2'/>" OBJECTIVE LATENCY
          "<objective probe='q:lat' metric='p50' goal='minimise'/>"
          "<objective probe='q:lat' metric='mean' goal='minimise'/></space>");
    add(&study, (size_t[]){0}, (double[]){100, 3, 1, 2});
    find(&study);
    char *script = script_of(&study, spex_draw_pareto, 0, false);
    expect_once(script, "size 1080,820 ");
    expect_once(script, "multiplot layout 2,2 ");
    assert_int_equal(times_in(script, "set xlabel 'throughput"), 3);
    for (size_t o = 2; o <= 4; o++) {
        char part[64];
        snprintf(part, sizeof(part), "plot $others using 1:%zu ", o);
        expect_once(script, part);
    }
    expect_once(script, "set ylabel 'p50 of");
    assert_null(strstr(script, "with lines"));
    double values[2][4];
    assert_int_equal(
        data_of(script, "unsure", values[0], 4) + data_of(script, "sure", values[0], 4), 3);
    free(script);
    end(&study);
}

/* The best so far has a point where it changes, and one at the end. */
TEST(convergence) {
    static const double measured[] = {NAN, 10, 5, 20, 7, 8};
    struct spex_study study;
    double values[6][3];
    begin(&study, "<space name='s'><parameter name='a' type='integer' min='1' max='6'/>" OBJECTIVE
                  "</space>");
    for (size_t a = 0; a < COUNT_OF(measured); a++)
        add(&study, &a, &measured[a]);
    find(&study);
    char *script = script_of(&study, spex_draw_convergence, 0, true);
    assert_non_null(strstr(script, "pngcairo"));
    assert_int_equal(data_of(script, "trials", values[0], 3), 5);
    for (size_t t = 0; t < 5; t++)
        assert_true(values[t][0] == (double)t + 2 && values[t][1] == 2 * values[t][0] &&
                    values[t][2] == measured[t + 1]);
    size_t rows = data_of(script, "best", values[0], 3);
    assert_true(rows >= 3 && values[0][0] == 2 && values[rows - 1][0] == 6);
    assert_true(values[rows - 1][1] == 12);
    expect_once(script, "set xlabel 'trials'\nplot $trials using 1:3");
    expect_once(script, "set xlabel 'measured seconds'\nplot $trials using 2:3");
    free(script);
    end(&study);
}

/* No more than 2,000 points, so that a picture of many trials is of a size that can be shown. */
TEST(many_trials) {
    for (size_t trials = 1999; trials <= 4001; trials += 1001) {
        struct spex_study study;
        double *values = calloc((size_t)3 * 2001, sizeof(double));
        begin(&study, "<space name='s'><parameter name='a' type='integer' min='1' "
                      "max='5000'/>" OBJECTIVE LATENCY "</space>");
        for (size_t a = 0; a < trials; a++)
            add(&study, &a, (double[]){5, 5});
        summarise(&study);
        /* What findings there are is not the subject; finding them among so many takes seconds. */
        study.findings.convergence = calloc(trials, sizeof(*study.findings.convergence));
        study.findings.places = calloc(trials, sizeof(*study.findings.places));
        char *script = script_of(&study, spex_draw_convergence, 0, false);
        size_t rows = data_of(script, "trials", values, 3);
        assert_true(rows == trials || (rows > 1000 && rows <= 2000));
        free(script);
        script = script_of(&study, spex_draw_pareto, 0, false);
        rows = data_of(script, "others", values, 2) - 1;
        assert_true(rows == trials || (rows > 1000 && rows <= 2000));
        free(script);
        free(values);
        end(&study);
    }
}

/* ---- axes ---- */

/* How numbers from low to high are labelled, as gnuplot's format. */
static void expect_numbers(const char *criterion, double low, double high, const char *format) {
    char xml[512], *text = NULL;
    size_t size;
    snprintf(xml, sizeof(xml),
             "<space name='s'><parameter name='a' type='integer' min='1' max='2'/>%s</space>",
             criterion);
    struct spex_space_file *file = space_of(xml);
    struct spex_script script = {.out = open_memstream(&text, &size)};
    spex_script_numbers(&script, "y", file->space.criteria, (struct spex_axis_range){low, high});
    fclose(script.out);
    if (strncmp(after(text, "set format y "), format, strlen(format)) != 0)
        fail_msg("%g to %g: %s", low, high, text);
    free(text);
    spex_space_free(file);
}

/* As many decimals as tell gnuplot's steps apart, of which a range has five to ten: it shows the
 * number over its power of 1000. */
TEST(numbers_of_an_axis) {
    expect_numbers(OBJECTIVE, 0, 500, "'%.0s %c/s'");
    expect_numbers(OBJECTIVE, 9.7, 9.95, "'%.2s %c/s'");
    expect_numbers(OBJECTIVE, 9.7, 10.3, "'%.1s %c/s'");
    expect_numbers(OBJECTIVE, 0, 1900, "'%.1s %c/s'");
    expect_numbers(OBJECTIVE, 0, 4000, "'%.1s %c/s'");
    expect_numbers(OBJECTIVE, 0, 5000, "'%.0s %c/s'");
    expect_numbers(OBJECTIVE, 1000, 1010, "'%.3s %c/s'");
    expect_numbers(OBJECTIVE, 990, 999, "'%.0s %c/s'");
    expect_numbers(OBJECTIVE, 1e6, 1e6 + 1e-9, "'%.6s %c/s'");
    expect_numbers(OBJECTIVE, 5, 5, "'%.0s %c/s'");
    expect_numbers(OBJECTIVE, 0, 0, "'%.0s %c/s'");
    expect_numbers(OBJECTIVE, -4000, 0, "'%.1s %c/s'");
    expect_numbers("<objective probe='q:lat' metric='mean' goal='minimise'/>", 1e-6, 2e-6,
                   "'%.1s %cs'");
}

/* At most as many labels as there is room for, evenly, and at least two. */
TEST(labels_of_an_axis) {
    static const struct {
        const char *axis;
        size_t width;
        const char *labels;
    } cases[] = {
        {"x", 60, "('10' 0, '11' 1, '12' 2, '13' 3, '14' 4, '15' 5, '16' 6)"},
        {"x", 28, "('10' 0, '11' 1, '12' 2, '13' 3, '14' 4, '15' 5, '16' 6)"},
        {"x", 27, "('10' 0, '12' 2, '14' 4, '16' 6)"},
        {"x", 16, "('10' 0, '12' 2, '14' 4, '16' 6)"},
        {"x", 15, "('10' 0, '13' 3, '16' 6)"},
        {"x", 1, "('10' 0, '14' 4)"},
        {"y", 14, "('10' 0, '11' 1, '12' 2, '13' 3, '14' 4, '15' 5, '16' 6)"},
        {"y", 13, "('10' 0, '12' 2, '14' 4, '16' 6)"},
        {"y", 7, "('10' 0, '13' 3, '16' 6)"},
    };
    struct spex_space_file *file =
        space_of("<space name='s'><parameter name='a' type='integer' min='10' max='16'/>" OBJECTIVE
                 "</space>");
    struct spex_bins bins;
    assert_int_equal(spex_bins_init(&bins, file->space.parameters, 24), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = NULL, head[32];
        size_t size;
        struct spex_script script = {.out = open_memstream(&text, &size)};
        spex_script_bins(&script, cases[i].axis, &bins, cases[i].width);
        fclose(script.out);
        snprintf(head, sizeof(head), "set %stics ", cases[i].axis);
        if (strncmp(after(text, head), cases[i].labels, strlen(cases[i].labels)) != 0)
            fail_msg("%s %zu: %s", cases[i].axis, cases[i].width, text);
        free(text);
    }
    spex_bins_free(&bins);
    spex_space_free(file);
}

/* Quotes and line ends of a name end neither the text nor the line; a percent sign is one. */
TEST(texts_in_scripts) {
    char *text = NULL;
    size_t size;
    struct spex_script script = {.out = open_memstream(&text, &size)};
    spex_script_text(&script, "it's\nb\x01 \x7f");
    fclose(script.out);
    assert_string_equal(text, "it''s b  \x7f");
    free(text);
    struct spex_space_file *file = space_of(
        "<space name='s'><parameter name='a' type='categorical' values='25% 5%%'/>" OBJECTIVE
        "</space>");
    struct spex_bins bins;
    assert_int_equal(spex_bins_init(&bins, file->space.parameters, 24), 0);
    script.out = open_memstream(&text, &size);
    spex_script_bins(&script, "x", &bins, 60);
    fclose(script.out);
    expect_once(text, "set xtics ('25%%' 0, '5%%%%' 1) ");
    free(text);
    spex_bins_free(&bins);
    spex_space_free(file);
}

/* Values with gnuplot's script, as it writes them, become elements; what is otherwise stays. */
TEST(values_of_a_picture) {
    static const char begin[] =
        "<svg width=\"400\"><g onmousemove=\"gnuplot_svg.showHypertext(evt,'",
                      between[] =
                          "')\" onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>";
    static const struct {
        const char *text, *elements, *told, *with_note;
    } cases[] = {
        {"a &lt;b> 'c'", "<use transform='translate(300.4,5) scale(2)'/></g>",
         "<svg width=\"400\"><g class=\"value\"><title>a &lt;b> 'c'</title>"
         "<use transform='translate(300.4,5) scale(2)'/></g></svg>",
         "<svg width=\"400\"><g class=\"value\" tabindex=\"0\"><title>a &lt;b> 'c'</title>"
         "<use transform='translate(300.4,5) scale(2)'/><text class=\"note\" x=\"292\" y=\"14\" "
         "text-anchor=\"end\">a &lt;b> 'c'</text></g></svg>"},
        {"a", "<use/></g>",
         "<svg width=\"400\"><g class=\"value\"><title>a</title><use/></g></svg>",
         "<svg width=\"400\"><g class=\"value\" tabindex=\"0\"><title>a</title><use/></g></svg>"},
        {"<script>", "<use/></g>", NULL, NULL},
        {"a", "<use/>", NULL, NULL},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char svg[512];
        snprintf(svg, sizeof(svg), "%s%s%s%s</svg>", begin, cases[c].text, between,
                 cases[c].elements);
        char *told = spex_picture_values(svg, false), *with_note = spex_picture_values(svg, true);
        assert_string_equal(told, cases[c].told ? cases[c].told : svg);
        assert_string_equal(with_note, cases[c].with_note ? cases[c].with_note : svg);
        free(told);
        free(with_note);
    }
}
