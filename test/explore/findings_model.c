/* SPDX-License-Identifier: MIT */
/* Findings of random trials against models that are slow and plain: the Pareto front by comparing
 * all with all, the path to the best by ranking the trials up to each, the heat map by its titles,
 * reasons by counting, bins by their places on the scale. */
#include <math.h>

#include "explore/findings/heat_map.h"
#include "picture_bench.h"

enum { WORLDS = 40 };

/* A trial of levels with values that are coarse, so that many are equal; one in eight failed, for
 * one of four reasons. */
static void add_random(struct spex_study *study, uint64_t *random, const size_t *levels) {
    double values[4];
    for (size_t c = 0; c < COUNT_OF(values); c++)
        values[c] =
            10 * (double)(1 + random_below(random, 6)) * (random_below(random, 3) ? 1 : 0.97);
    if (random_below(random, 8) == 0)
        values[0] = NAN;
    add(study, levels, values);
    struct spex_trial *trial = &study->trials.items[study->trials.count - 1];
    trial->seconds = (double)study->trials.count;
    if (!trial->ok) {
        free(trial->status);
        assert_true(asprintf(&trial->status, "reason %u", (unsigned)random_below(random, 4)) > 0);
    }
}

static void random_levels(const struct spex_space *space, uint64_t *random, size_t *levels) {
    for (size_t p = 0; p < space->parameter_count; p++)
        levels[p] = random_below(random, space->parameters[p].count);
}

/* ---- the front ---- */

#define TWO(first, second)                                                                         \
    "<space name='s'><parameter name='a' type='integer' min='1' max='30'/>"                        \
    "<objective probe='q:tpt' metric='throughput' goal='" first "'/>"                              \
    "<objective probe='q:lat' metric='p99' goal='" second "'/>"                                    \
    "<limit probe='q:lat' metric='max' at_most='45'/></space>"

static double loss_of(const struct spex_study *study, size_t g, size_t c) {
    double mean = study->summary.groups[g].criteria[c].mean;
    return study->file->space.criteria[c].goal == SPEX_MAXIMISE ? -mean : mean;
}

/* In how many of the two objectives a is better than b, worse, and better for sure. */
struct comparison {
    unsigned better, worse, sure;
};

static struct comparison compare(const struct spex_study *study, size_t a, size_t b) {
    struct comparison of = {0};
    for (size_t c = 0; c < 2; c++) {
        const struct spex_accuracy *accuracy = &study->findings.accuracies[c];
        double ahead = loss_of(study, b, c) - loss_of(study, a, c);
        double error = hypot(spex_group_error(accuracy, &study->summary.groups[a], c),
                             spex_group_error(accuracy, &study->summary.groups[b], c));
        of.better += ahead > 0;
        of.worse += ahead < 0;
        of.sure += ahead > 1.959964 * error;
    }
    return of;
}

static bool in_front(const struct spex_study *study, size_t g) {
    for (size_t other = 0; other < study->summary.count; other++)
        if (study->findings.competes[other]) {
            struct comparison of = compare(study, other, g);
            if (of.better && !of.worse)
                return false;
        }
    return study->findings.competes[g];
}

static enum spex_pareto_place place_of(const struct spex_study *study, size_t g) {
    bool front = in_front(study, g), sure = true, beaten = false;
    if (!study->findings.competes[g])
        return SPEX_PARETO_OUT;
    for (size_t other = 0; other < study->summary.count; other++) {
        if (other == g || !study->findings.competes[other])
            continue;
        sure = sure && compare(study, g, other).sure > 0;
        beaten = beaten || (in_front(study, other) && compare(study, other, g).sure == 2);
    }
    return front    ? (sure ? SPEX_PARETO_SURE_FRONT : SPEX_PARETO_FRONT)
           : beaten ? SPEX_PARETO_BEATEN
                    : SPEX_PARETO_PERHAPS;
}

/* Each place, and the list of those in front in the order of the first objective. */
static void expect_front(const struct spex_study *study, size_t *seen) {
    const struct spex_findings *findings = &study->findings;
    size_t front = 0, perhaps = 0;
    for (size_t g = 0; g < study->summary.count; g++) {
        enum spex_pareto_place place = place_of(study, g);
        assert_int_equal(findings->places[g], place);
        front += place >= SPEX_PARETO_FRONT;
        perhaps += place == SPEX_PARETO_PERHAPS;
        seen[place]++;
    }
    assert_int_equal(findings->front_count, front);
    assert_int_equal(findings->perhaps_count, perhaps);
    for (size_t f = 0; f < front; f++) {
        assert_true(findings->places[findings->front[f]] >= SPEX_PARETO_FRONT);
        if (f) {
            size_t before = findings->front[f - 1], this = findings->front[f];
            double difference = loss_of(study, this, 0) - loss_of(study, before, 0);
            assert_true(difference > 0 || (difference == 0 && before < this));
        }
    }
}

TEST(fronts) {
    static const char *const spaces[] = {TWO("maximise", "minimise"), TWO("minimise", "minimise"),
                                         TWO("minimise", "maximise")};
    uint64_t random = 1;
    size_t seen[SPEX_PARETO_SURE_FRONT + 1] = {0};
    for (size_t w = 0; w < WORLDS; w++) {
        struct spex_study study;
        size_t level, trials = 4 + random_below(&random, 40);
        begin(&study, spaces[w % 3]);
        for (size_t t = 0; t < trials; t++) {
            random_levels(&study.file->space, &random, &level);
            add_random(&study, &random, &level);
        }
        find(&study);
        expect_front(&study, seen);
        end(&study);
    }
    for (size_t place = 0; place < COUNT_OF(seen); place++)
        assert_true(seen[place] > 0);
}

/* ---- the path to the best ---- */

/* Of the first 128 trials each is looked at, of the next 128 each second, and so on. */
static bool is_looked_at(size_t t, size_t count) {
    return t < 128 || (t < 256 && t % 2 == 0) || (t >= 256 && t < 384 && t % 3 == 0) ||
           t == count - 1;
}

static size_t first_trial_of(const struct spex_study *study, const size_t *levels) {
    size_t t = 0, bytes = study->file->space.parameter_count * sizeof(size_t);
    while (!study->trials.items[t].ok || memcmp(study->trials.items[t].levels, levels, bytes) != 0)
        t++;
    return t;
}

/* The best of the first trials, ranked anew. */
static struct spex_best_so_far best_of(const struct spex_study *study, size_t trials) {
    struct spex_summary summary;
    struct spex_ranking standing = {.estimate = NAN, .margin = NAN};
    struct spex_best_so_far so_far = {0};
    size_t best;
    spex_summary_init(&summary, &study->file->space);
    for (size_t t = 0; t < trials; t++)
        assert_int_equal(spex_summary_add(&summary, &study->trials.items[t]), 0);
    assert_int_equal(spex_ranking_best(&summary, &standing, &best), 0);
    if (best != SPEX_RANKING_NONE)
        so_far.trial = first_trial_of(study, summary.groups[best].levels);
    so_far.value = standing.estimate;
    so_far.margin = standing.margin;
    spex_summary_free(&summary);
    return so_far;
}

static void same_number(double a, double b) {
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void expect_path(const struct spex_study *study) {
    size_t count = study->trials.count;
    struct spex_best_so_far *path = spex_convergence(&study->file->space, &study->trials);
    struct spex_best_so_far expected = {.value = NAN, .margin = NAN};
    assert_non_null(path);
    for (size_t t = 0; t < count; t++) {
        if (is_looked_at(t, count))
            expected = best_of(study, t + 1);
        assert_int_equal(path[t].trial, expected.trial);
        same_number(path[t].value, expected.value);
        same_number(path[t].margin, expected.margin);
        assert_true(path[t].seconds == (double)((t + 1) * (t + 2)) / 2);
    }
    free(path);
}

TEST(paths_to_the_best) {
    static const size_t counts[] = {1, 2, 9, 128, 258, 330};
    uint64_t random = 2;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct spex_study study;
        size_t level;
        begin(&study, TWO("maximise", "minimise"));
        for (size_t t = 0; t < counts[i]; t++) {
            random_levels(&study.file->space, &random, &level);
            add_random(&study, &random, &level);
        }
        expect_path(&study);
        end(&study);
    }
}

/* ---- reasons ---- */

TEST(reasons) {
    uint64_t random = 3;
    for (size_t w = 0; w < WORLDS; w++) {
        struct spex_study study;
        struct spex_failure *of;
        size_t level = 0, count, all = 0, trials = random_below(&random, 60);
        begin(&study, TWO("maximise", "minimise"));
        for (size_t t = 0; t < trials; t++)
            add_random(&study, &random, &level);
        assert_int_equal(spex_failures(&study.trials, &of, &count), 0);
        for (size_t f = 0; f < count; f++) {
            uint64_t times = 0;
            for (size_t t = 0; t < trials; t++)
                times += !strcmp(study.trials.items[t].status, of[f].reason);
            assert_int_equal(of[f].trials, times);
            if (f)
                assert_true(of[f - 1].trials > of[f].trials ||
                            (of[f - 1].trials == of[f].trials &&
                             strcmp(of[f - 1].reason, of[f].reason) < 0));
            all += times;
        }
        for (size_t t = 0; t < trials; t++)
            all -= !study.trials.items[t].ok;
        assert_int_equal(all, 0);
        free(of);
        end(&study);
    }
}

/* ---- bins ---- */

/* Values lie in the same bin if they lie in the same part of the scale; bins are their ranges. */
TEST(bins_of_numbers) {
    for (size_t values = 1; values <= 60; values++) {
        char xml[256];
        snprintf(xml, sizeof(xml),
                 "<space name='s'><parameter name='a' type='integer' min='1' max='%zu'/>" OBJECTIVE
                 "</space>",
                 values);
        struct spex_space_file *file = space_of(xml);
        for (size_t most = 1; most <= 17; most++) {
            struct spex_bins bins;
            assert_int_equal(spex_bins_init(&bins, file->space.parameters, most), 0);
            assert_int_equal(bins.count, values < most ? values : most);
            assert_int_equal(bins.first[bins.count], values);
            for (size_t l = 0; l < values; l++) {
                size_t part = values <= most ? l : l * most / (values - (values > 1));
                assert_int_equal(bins.of_level[l], part < most ? part : most - 1);
                assert_true(bins.first[bins.of_level[l]] <= l &&
                            l < bins.first[bins.of_level[l] + 1]);
            }
            spex_bins_free(&bins);
        }
        spex_space_free(file);
    }
}

/* ---- heat maps ---- */

/* Counts of levels that make panels, a single one, and bins. */
static const size_t shapes[][5] = {
    {3, 2, 2, 3, 2},  {2, 3, 4, 4, 4}, {30, 2, 3, 1, 2}, {2, 40, 5, 13, 1},
    {4, 26, 1, 1, 2}, {1, 1, 3, 2, 2}, {2, 2, 8, 8, 1},  {2, 2, 8, 8, 2},
};

static struct spex_space_file *space_of_shape(const size_t *counts, size_t parameters) {
    static const char *const units[] = {"", " unit='ms'", " unit='MB'", "", " unit='ms'"};
    char xml[1024];
    int at = snprintf(xml, sizeof(xml), "<space name='s'>");
    for (size_t p = 0; p < parameters; p++)
        at += snprintf(xml + at, sizeof(xml) - (size_t)at,
                       "<parameter name='%c' type='integer' min='1' max='%zu'%s/>", 'a' + (int)p,
                       counts[p], units[p]);
    snprintf(xml + at, sizeof(xml) - (size_t)at, OBJECTIVE "</space>");
    return space_of(xml);
}

/* What tells the panel of a configuration, and its number: the first parameter that is no axis is
 * the column. */
static size_t panel_of(const struct spex_heat_map *map, const size_t *levels, char *title) {
    static const char *const units[] = {"", " ms", " MB", "", " ms"};
    size_t column = 0, row = 0, others = 0;
    *title = '\0';
    for (size_t p = 0; p < map->space->parameter_count && map->panels; p++) {
        if (p == map->x || p == map->y)
            continue;
        title +=
            sprintf(title, "%s%c %zu%s", others ? ", " : "", 'a' + (int)p, levels[p] + 1, units[p]);
        if (others++ == 0)
            column = levels[p];
        else
            row = row * map->space->parameters[p].count + levels[p];
    }
    return row * map->columns + column;
}

static size_t place_in(const struct spex_heat_map *map, const size_t *levels) {
    char title[128];
    return (panel_of(map, levels, title) * map->y_bins.count +
            map->y_bins.of_level[levels[map->y]]) *
               map->x_bins.count +
           map->x_bins.of_level[levels[map->x]];
}

/* One panel for each combination of the others, at most 64; or one for all. */
static void expect_panels(const struct spex_heat_map *map) {
    size_t product = 1, first = 0;
    for (size_t p = 0; p < map->space->parameter_count; p++)
        if (p != map->x && p != map->y) {
            first = first ? first : map->space->parameters[p].count;
            product *= map->space->parameters[p].count;
        }
    assert_int_equal(map->panels, product <= 64);
    assert_int_equal(map->columns, map->panels && first ? first : 1);
    assert_int_equal(map->columns * map->rows, map->panels ? product : 1);
}

/* Each configuration with a result is shown in its place, or one that is as good; the best of all
 * is in its own. */
static void expect_cells(const struct spex_heat_map *map, size_t count) {
    const struct spex_study *study = map->study;
    const struct spex_summary *summary = &study->summary;
    const struct spex_group *best = &summary->groups[study->findings.best];
    const struct spex_group **shown = calloc(count, sizeof(struct spex_group *));
    double low = INFINITY, high = -INFINITY;
    assert_non_null(shown);
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        size_t place = place_in(map, group->levels);
        if (group->trials && shown[place] != best &&
            (group == best || !shown[place] ||
             group->criteria[0].mean > shown[place]->criteria[0].mean))
            shown[place] = group;
    }
    for (size_t c = 0; c < count; c++) {
        size_t x = c % map->x_bins.count, rest = c / map->x_bins.count;
        const struct spex_group *at =
            spex_heat_map_at(map, rest / map->y_bins.count, rest % map->y_bins.count, x);
        assert_ptr_equal(at, shown[c]);
        if (shown[c]) {
            low = fmin(low, shown[c]->criteria[0].mean);
            high = fmax(high, shown[c]->criteria[0].mean);
        }
    }
    assert_true(map->low == low && map->high == high);
    free(shown);
}

static void expect_titles(const struct spex_heat_map *map) {
    const struct spex_summary *summary = &map->study->summary;
    const size_t *best = summary->groups[map->study->findings.best].levels;
    char title[128], expected[128];
    size_t y, x;
    for (size_t g = 0; g < summary->count; g++) {
        size_t panel = panel_of(map, summary->groups[g].levels, expected);
        spex_heat_map_title(map, panel, title, sizeof(title));
        assert_string_equal(title, expected);
        memset(title, '#', sizeof(title));
        spex_heat_map_title(map, panel, title, 8);
        assert_true(strlen(title) == strnlen(expected, 7) && !strncmp(title, expected, 7));
        assert_true(title[8] == '#');
    }
    for (size_t panel = 0; panel < map->columns * map->rows; panel++) {
        bool there = panel == panel_of(map, best, expected);
        assert_true(spex_heat_map_best(map, panel, &y, &x) == there);
        if (there)
            assert_true(y == map->y_bins.of_level[best[map->y]] &&
                        x == map->x_bins.of_level[best[map->x]]);
    }
}

static void expect_heat_map(const struct spex_study *study) {
    struct spex_heat_map map;
    struct spex_error why;
    assert_int_equal(spex_heat_map_init(&map, study, &why), 0);
    assert_true(map.x_bins.count <= 24 && map.y_bins.count <= 24);
    expect_panels(&map);
    expect_cells(&map, map.columns * map.rows * map.y_bins.count * map.x_bins.count);
    expect_titles(&map);
    spex_heat_map_free(&map);
}

/* All axes of a space, of two parameters and more. */
TEST(heat_maps) {
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    uint64_t random = 4;
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        for (size_t parameters = 2; parameters <= 5; parameters++) {
            struct spex_study study = {.file = space_of_shape(shapes[s], parameters)};
            size_t levels[5] = {0};
            add(&study, levels, (double[]){35});
            for (size_t t = 0; t < 60; t++) {
                random_levels(&study.file->space, &random, levels);
                add_random(&study, &random, levels);
            }
            summarise(&study);
            struct spex_ranking standing;
            assert_int_equal(spex_ranking_best(&study.summary, &standing, &study.findings.best), 0);
            for (size_t x = 0; x < parameters; x++)
                for (size_t y = 0; y < parameters; y++)
                    if (x != y) {
                        study.heatmap_x = names[x];
                        study.heatmap_y = names[y];
                        expect_heat_map(&study);
                    }
            end(&study);
        }
}
