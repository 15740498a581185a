/* SPDX-License-Identifier: MIT */
/* The script of a heat map: every configuration's value is at its place, in its panel. */
#include "picture_bench.h"

/* A heat map uses no other finding. */
static void find_best(struct spex_study *study) {
    summarise(study);
    const struct spex_summary *summary = &study->summary;
    const struct spex_group *best =
        spex_summary_best(summary, study->file->space.parameter_count, 0);
    study->findings.best = (size_t)(best - summary->groups);
}

static const char four_parameters[] =
    "<space name='four'><parameter name='a' type='integer' unit='MB' values='1 2 4'/>"
    "<parameter name='b' type='integer' min='1' max='2'/>"
    "<parameter name='mode' type='categorical' values='x 50%'/>"
    "<parameter name='c' type='integer' values='5 6 7'/>"
    "<parameter name='d' type='integer' values='8 9'/>" OBJECTIVE "<heatmap x='a' y='b'/></space>";

/* A value that tells the configuration; the best is at the highest levels but one. */
static double value_of(const size_t *levels) {
    double value = 1;
    for (size_t p = 0; p < 5; p++)
        value += (double)levels[p] * pow(10, (double)p);
    return levels[0] == 1 && levels[1] == 0 && levels[2] == 1 && levels[3] == 2 && levels[4] == 0
               ? 90000
               : value;
}

static void add_all(struct spex_study *study) {
    size_t l[5];
    for (l[0] = 0; l[0] < 3; l[0]++)
        for (l[1] = 0; l[1] < 2; l[1]++)
            for (l[2] = 0; l[2] < 2; l[2]++)
                for (l[3] = 0; l[3] < 3; l[3]++)
                    for (l[4] = 0; l[4] < 2; l[4]++)
                        add(study, l, (double[]){value_of(l)});
}

/* The panel under this title holds the values of this mode, c and d. */
static void expect_panel(const char *script, const size_t *rest) {
    static const char *const modes[] = {"x", "50%"};
    char title[64];
    double values[6][3], number;
    snprintf(title, sizeof(title), "set title 'mode %s, c %zu, d %zu'", modes[rest[0]], 5 + rest[1],
             8 + rest[2]);
    expect_once(script, title);
    const char *panel = after(script, title);
    assert_int_equal(sscanf(after(panel, "$panel"), "%lf", &number), 1);
    char name[32];
    snprintf(name, sizeof(name), "panel%.0f", number);
    assert_int_equal(data_of(script, name, values[0], 3), 6);
    for (size_t v = 0; v < 6; v++) {
        const size_t levels[] = {(size_t)values[v][0], (size_t)values[v][1], rest[0], rest[1],
                                 rest[2]};
        assert_true(levels[0] == v % 3 && levels[1] == v / 3);
        assert_true(fabs(values[v][2] - value_of(levels)) < 1e-6);
    }
}

TEST(a_panel_for_each_combination) {
    struct spex_study study;
    begin(&study, four_parameters);
    add_all(&study);
    find_best(&study);
    char *script = script_of(&study, spex_draw_heatmap, 0, false);
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t c = 0; c < 3; c++)
            for (size_t d = 0; d < 2; d++)
                expect_panel(script, (size_t[]){mode, c, d});
    expect_layout(script, 6, 2);
    expect_once(script, "size 690,1510 ");
    assert_int_equal(times_in(script, "with image pixels"), 12);
    /* The ring marks the best in its panel alone, and its title names it. */
    expect_once(script, "with points pt 6");
    const char *best = after(script, "set title 'mode 50%, c 7, d 8'");
    expect_once(script, ", '+' using (1):(0) every");
    assert_true(strstr(best, "plot $panel") < strstr(script, ", '+'"));
    assert_true(strchr(strstr(best, "plot $panel"), '\n') > strstr(script, ", '+'"));
    double low, high;
    assert_int_equal(sscanf(after(script, "set cbrange ["), "%lf:%lf", &low, &high), 2);
    assert_true(fabs(low - 1) < 1e-6 && fabs(high - 90000) < 1e-6);
    /* The colour scale is drawn once, with the last panel. */
    expect_once(script, "\nset colorbox user");
    assert_non_null(strstr(after(script, "\nset colorbox user"), "plot $panel11 "));
    assert_null(strstr(after(script, "plot $panel11 "), "plot $panel"));
    expect_once(script, "set xlabel 'a [MB]'\nset xtics ('1' 0, '2' 1, '4' 2) ");
    expect_once(script, "set xrange [-0.5:2.5]");
    expect_once(script, "set ylabel 'b'\nset ytics ('1' 0, '2' 1) ");
    expect_once(script, "throughput of q:tpt; a ring marks the best'\n");
    expect_once(script, "set cblabel 'throughput, /s'\n");
    free(script);
    end(&study);
}

/* Where no configuration of a place has a result, it is blank; one that failed is no result. */
TEST(places_without_a_result) {
    struct spex_study study;
    double values[6][3];
    begin(&study, "<space name='s'><parameter name='a' type='integer' values='1 2 4'/>"
                  "<parameter name='b' type='integer' min='1' max='2'/>" OBJECTIVE "</space>");
    add(&study, (size_t[]){2, 1}, (double[]){7});
    add(&study, (size_t[]){1, 1}, (double[]){NAN});
    find_best(&study);
    study.heatmap_x = "a";
    char *script = script_of(&study, spex_draw_heatmap, 0, false);
    assert_int_equal(data_of(script, "panel0", values[0], 3), 6);
    for (size_t v = 0; v < 6; v++)
        assert_true(v == 5 ? values[v][2] == 7 : isnan(values[v][2]));
    expect_once(script, ", '+' using (2):(1) every");
    expect_layout(script, 1, 1);
    expect_once(script, "size 440,360 ");
    /* One mean alone: a range that is not empty and holds it. */
    double low, high;
    assert_int_equal(sscanf(after(script, "set cbrange ["), "%lf:%lf", &low, &high), 2);
    assert_true(low == 7 && high > 7 && high < 7.001);
    free(script);
    end(&study);
}

/* 81 combinations: one panel, in each place the best of all over the other parameters. */
TEST(too_many_panels) {
    struct spex_study study;
    double values[4][3];
    begin(&study, "<space name='s'><parameter name='t' type='integer' values='1 2'/>"
                  "<parameter name='e' type='integer' min='1' max='9'/>"
                  "<parameter name='f' type='integer' min='1' max='9'/>"
                  "<parameter name='a' type='integer' values='1 2'/>" OBJECTIVE
                  "<run threads='t'/></space>");
    for (size_t e = 0; e < 9; e++)
        for (size_t v = 0; v < 4; v++)
            add(&study, (size_t[]){v / 2, e, 8 - e, v % 2},
                (double[]){100 * (double)(v + 1) - fabs((double)e - 3)});
    find_best(&study);
    study.heatmap_y = "a";
    char *script = script_of(&study, spex_draw_heatmap, 0, false);
    assert_int_equal(data_of(script, "panel0", values[0], 3), 4);
    for (size_t v = 0; v < 4; v++)
        assert_true(values[v][2] == 100 * (values[v][0] * 2 + values[v][1] + 1));
    expect_once(script, "q:tpt, best over the other parameters; a ring marks the best'\n");
    expect_once(script, "set title ''");
    expect_layout(script, 1, 1);
    free(script);
    end(&study);
}

TEST(axes_of_a_heat_map) {
    static const struct {
        const char *x, *y, *labels;
    } axes[] = {
        /* The threads' parameter upwards, against the first other one. */
        {NULL, NULL, "set xlabel 'a'\n,set ylabel 't'\n"},
        {"t", NULL, "set xlabel 't'\n,set ylabel 'a'\n"},
        {NULL, "t", "set xlabel 'a'\n,set ylabel 't'\n"},
        {NULL, "a", "set xlabel 't'\n,set ylabel 'a'\n"},
        {"b", NULL, "set xlabel 'b'\n,set ylabel 'a'\n"},
        {"b", "t", "set xlabel 'b'\n,set ylabel 't'\n"},
    };
    struct spex_study study;
    begin(&study, "<space name='s'><parameter name='a' type='integer' values='1 2'/>"
                  "<parameter name='t' type='integer' values='1 2'/>"
                  "<parameter name='b' type='integer' values='1 2'/>" OBJECTIVE
                  "<run threads='t'/></space>");
    add(&study, (size_t[]){0, 0, 0}, (double[]){1});
    find_best(&study);
    for (size_t i = 0; i < COUNT_OF(axes); i++) {
        char labels[64];
        study.heatmap_x = axes[i].x;
        study.heatmap_y = axes[i].y;
        char *script = script_of(&study, spex_draw_heatmap, 0, false);
        snprintf(labels, sizeof(labels), "set xlabel '%c'\n,set ylabel '%c'\n",
                 *after(script, "set xlabel '"), *after(script, "set ylabel '"));
        assert_string_equal(labels, axes[i].labels);
        free(script);
    }
    end(&study);
}

/* A hundred values are grouped into 24 places at most, of which not all have a label. */
TEST(many_values) {
    struct spex_study study;
    begin(&study, "<space name='s'><parameter name='a' type='integer' min='1' max='100'/>"
                  "<parameter name='b' type='integer' min='1' max='2'/>" OBJECTIVE "</space>");
    for (size_t a = 0; a < 100; a++)
        add(&study, (size_t[]){a, 0}, (double[]){(double)a + 1});
    find_best(&study);
    study.heatmap_x = "a";
    char *script = script_of(&study, spex_draw_heatmap, 0, false);
    double values[48][3];
    assert_int_equal(data_of(script, "panel0", values[0], 3), 48);
    for (size_t v = 0; v < 24; v++)
        assert_true(fabs(values[v][2] - (double)(v + 1) * 100 / 24) <= 1);
    expect_once(script, "set xrange [-0.5:23.5]");
    free(script);
    end(&study);
}
