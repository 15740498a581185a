/* SPDX-License-Identifier: MIT */
/* What trials come to, where the truth is known: errors of means, the Pareto front, effects, how
 * the best was found, why trials failed, changes. */
#include <math.h>

#include "../scarce_memory.h"
#include "explore/findings/change.h"
#include "explore/findings/findings.h"
#include "spaces.h"

/* a: 1 2 3 4; mode: x y; two objectives and a limit. */
static const char two_objectives[] =
    "<space name='s'><parameter name='a' type='integer' min='1' max='4'/>"
    "<parameter name='mode' type='categorical' values='x y'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<limit probe='q:lat' metric='max' at_most='10'/></space>";

static const char one_objective[] =
    "<space name='s'><parameter name='a' type='integer' min='1' max='4'/>"
    "<parameter name='mode' type='categorical' values='x y'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>";

struct bench {
    struct spex_space_file *file;
    struct spex_trials trials;
    struct spex_summary summary;
    struct spex_findings findings;
};

static void begin(struct bench *bench, const char *xml) {
    *bench = (struct bench){.file = space_of(xml)};
}

static void end(struct bench *bench) {
    spex_findings_free(&bench->findings);
    spex_summary_free(&bench->summary);
    spex_trials_free(&bench->trials);
    spex_space_free(bench->file);
}

/* A trial; NAN as its first value stands for one that failed, for the reason. */
static void add(struct bench *bench, size_t a, size_t mode, const double *values,
                const char *reason) {
    struct spex_trial trial;
    assert_int_equal(spex_trial_init(&trial, &bench->file->space, (size_t[]){a, mode}), 0);
    trial.ok = !reason;
    trial.status = strdup(reason ? reason : "ok");
    trial.seconds = 2;
    trial.records_used = 10;
    trial.records_lost = 1;
    for (size_t c = 0; c < bench->file->space.criterion_count && !reason; c++)
        trial.measured[c] = (struct spex_measured){.value = values[c], .error = NAN};
    assert_int_equal(spex_trials_add(&bench->trials, &trial), 0);
}

static void add_one(struct bench *bench, size_t a, size_t mode, double value) {
    add(bench, a, mode, &value, NULL);
}

static void find(struct bench *bench) {
    spex_summary_init(&bench->summary, &bench->file->space);
    for (size_t t = 0; t < bench->trials.count; t++)
        assert_int_equal(spex_summary_add(&bench->summary, &bench->trials.items[t]), 0);
    assert_int_equal(spex_findings_init(&bench->findings, &bench->summary, &bench->trials), 0);
}

static size_t group(const struct bench *bench, size_t a, size_t mode) {
    const struct spex_group *found = spex_summary_find(&bench->summary, (size_t[]){a, mode});
    assert_non_null(found);
    return (size_t)(found - bench->summary.groups);
}

TEST(nothing) {
    struct bench bench;
    begin(&bench, one_objective);
    find(&bench);
    assert_int_equal(bench.findings.best, SPEX_RANKING_NONE);
    assert_int_equal(bench.findings.worst, SPEX_RANKING_NONE);
    assert_int_equal(bench.findings.tied_count, 0);
    assert_int_equal(spex_findings_settled(&bench.findings, &bench.trials), 0);
    end(&bench);
}

TEST(one_trial) {
    struct bench bench;
    begin(&bench, one_objective);
    add_one(&bench, 2, 1, 42);
    find(&bench);
    assert_int_equal(bench.findings.best, 0);
    assert_int_equal(bench.findings.worst, 0);
    assert_int_equal(bench.findings.tied_count, 1);
    assert_true(
        isnan(spex_group_error(&bench.findings.accuracies[0], &bench.summary.groups[0], 0)));
    assert_true(isnan(bench.findings.effects.parameters[0].share));
    assert_int_equal(spex_findings_settled(&bench.findings, &bench.trials), 0);
    end(&bench);
}

/* The best by far is alone; of two that differ by less than their trials, both are tied. */
TEST(ties) {
    struct bench bench;
    begin(&bench, one_objective);
    for (size_t i = 0; i < 6; i++) {
        double wobble = i % 2 ? 0.5 : -0.5;
        add_one(&bench, 0, 0, 50 + wobble);
        add_one(&bench, 1, 0, 100 + wobble);
        add_one(&bench, 2, 0, 100.1 - wobble);
        add_one(&bench, 3, 0, 70 + wobble);
        add_one(&bench, 3, 1, 60 - wobble);
    }
    find(&bench);
    const struct spex_findings *findings = &bench.findings;
    assert_int_equal(findings->tied_count, 2);
    assert_int_equal(findings->tied[0], findings->best);
    assert_true(findings->best == group(&bench, 1, 0) || findings->best == group(&bench, 2, 0));
    assert_int_equal(findings->worst, group(&bench, 0, 0));
    assert_true(findings->standings[findings->best].low < 100.1);
    assert_true(findings->standings[findings->best].high > 100);
    assert_int_equal(findings->records_used, 300);
    assert_int_equal(findings->records_lost, 30);
    assert_true(findings->seconds == 60);
    end(&bench);
}

/* Only what keeps the limit competes, if anything does. */
TEST(limits) {
    struct bench bench;
    begin(&bench, two_objectives);
    add(&bench, 0, 0, (double[]){100, 1, 11}, NULL);
    add(&bench, 1, 0, (double[]){50, 1, 9}, NULL);
    find(&bench);
    assert_true(bench.findings.limits_kept);
    assert_int_equal(bench.findings.best, 1);
    assert_int_equal(bench.findings.worst, 1);
    assert_true(isnan(bench.findings.standings[0].low));
    assert_int_equal(bench.findings.places[0], SPEX_PARETO_OUT);
    end(&bench);
    begin(&bench, two_objectives);
    add(&bench, 0, 0, (double[]){100, 1, 11}, NULL);
    add(&bench, 1, 0, (double[]){50, 1, 12}, NULL);
    find(&bench);
    assert_false(bench.findings.limits_kept);
    assert_int_equal(bench.findings.best, 0);
    end(&bench);
}

/* Four in front, one beaten surely, one beaten by a hair. Each has trials that differ by 2 %. */
TEST(front) {
    static const struct {
        size_t a, mode;
        double throughput, latency;
        enum spex_pareto_place place;
    } points[] = {
        {0, 0, 100, 1, SPEX_PARETO_SURE_FRONT}, {1, 0, 200, 2, SPEX_PARETO_SURE_FRONT},
        {2, 0, 400, 4, SPEX_PARETO_FRONT},      {3, 0, 800, 8, SPEX_PARETO_SURE_FRONT},
        {0, 1, 150, 3, SPEX_PARETO_BEATEN},     {1, 1, 399, 4.01, SPEX_PARETO_PERHAPS},
    };
    struct bench bench;
    begin(&bench, two_objectives);
    for (size_t i = 0; i < COUNT_OF(points); i++)
        for (int t = 0; t < 6; t++) {
            double by = t % 2 ? 1.01 : 0.99;
            add(&bench, points[i].a, points[i].mode,
                (double[]){points[i].throughput * by, points[i].latency / by, 1}, NULL);
        }
    add(&bench, 2, 1, NULL, "it crashed");
    find(&bench);
    for (size_t i = 0; i < COUNT_OF(points); i++)
        assert_int_equal(bench.findings.places[group(&bench, points[i].a, points[i].mode)],
                         points[i].place);
    assert_int_equal(bench.findings.places[group(&bench, 2, 1)], SPEX_PARETO_OUT);
    assert_int_equal(bench.findings.front_count, 4);
    assert_int_equal(bench.findings.front[0], group(&bench, 3, 0));
    assert_int_equal(bench.findings.front[3], group(&bench, 0, 0));
    assert_int_equal(bench.findings.perhaps_count, 1);
    end(&bench);
}

/* Two of the same means are both in front; without errors nothing is sure. */
TEST(front_of_equals) {
    struct bench bench;
    begin(&bench, two_objectives);
    add(&bench, 0, 0, (double[]){100, 1, 1}, NULL);
    add(&bench, 1, 0, (double[]){100, 1, 1}, NULL);
    add(&bench, 2, 0, (double[]){50, 1, 1}, NULL);
    find(&bench);
    assert_int_equal(bench.findings.places[0], SPEX_PARETO_FRONT);
    assert_int_equal(bench.findings.places[1], SPEX_PARETO_FRONT);
    assert_int_equal(bench.findings.places[2], SPEX_PARETO_PERHAPS);
    end(&bench);
}

TEST(failures) {
    struct bench bench;
    begin(&bench, one_objective);
    add(&bench, 0, 0, NULL, "b");
    add(&bench, 1, 0, NULL, "a");
    add_one(&bench, 1, 1, 5);
    add(&bench, 2, 0, NULL, "c");
    add(&bench, 2, 0, NULL, "a");
    find(&bench);
    assert_int_equal(bench.findings.failed, 4);
    assert_int_equal(bench.findings.failure_count, 3);
    assert_string_equal(bench.findings.failures[0].reason, "a");
    assert_int_equal(bench.findings.failures[0].trials, 2);
    assert_string_equal(bench.findings.failures[1].reason, "b");
    assert_string_equal(bench.findings.failures[2].reason, "c");
    assert_int_equal(bench.findings.best, group(&bench, 1, 1));
    end(&bench);
}

/* The best may turn out worse when it is tried again. What is told of the best after the last trial
 * is what the report says of it. */
TEST(convergence) {
    struct bench bench;
    begin(&bench, one_objective);
    add(&bench, 0, 0, NULL, "no");
    add_one(&bench, 0, 1, 10);
    add_one(&bench, 1, 1, 30);
    add_one(&bench, 2, 1, 28);
    add_one(&bench, 1, 1, 8); /* mean 19 */
    add_one(&bench, 3, 1, 15);
    find(&bench);
    const struct spex_best_so_far *path = bench.findings.convergence;
    static const size_t first[] = {1, 2, 2, 3, 3};
    const struct spex_ranking *best = &bench.findings.standings[bench.findings.best];
    assert_true(isnan(path[0].value));
    for (size_t i = 0; i < COUNT_OF(first); i++)
        assert_int_equal(path[i + 1].trial, first[i]);
    assert_true(path[5].seconds == 12);
    assert_true(path[5].value == best->estimate && path[5].margin == best->margin);
    assert_int_equal(spex_findings_settled(&bench.findings, &bench.trials), 4);
    end(&bench);
}

/* Times and rates, and values that were never negative, have positive intervals, however large
 * their errors; others have intervals of equal halves. */
TEST(intervals_of_means) {
    static const double values[][3] = {{1e6, 2.77e-6, 1}, {9e5, 1e-3, 2}, {1.1e6, 2e-6, 1}};
    struct bench bench;
    double low, high;
    begin(&bench, two_objectives);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        add(&bench, i, 0, values[i], NULL);
    for (size_t t = 0; t < bench.trials.count; t++)
        bench.trials.items[t].measured[1].error = 4.8e-4;
    find(&bench);
    for (size_t g = 0; g < bench.summary.count; g++) {
        double mean = values[g][1], margin;
        margin = spex_group_margin(&bench.findings.accuracies[1], &bench.summary.groups[g], 1);
        spex_group_interval(&bench.findings.accuracies[1], &bench.summary, g, 1, &low, &high);
        assert_true(low > 0 && low < mean && fabs(high - mean - margin) < 1e-12);
        assert_true(fabs(mean / low - high / mean) < 1e-6 * high / mean);
        spex_group_interval(&bench.findings.accuracies[0], &bench.summary, g, 0, &low, &high);
        assert_true(isnan(low) && isnan(high)); /* one trial each, and no errors */
    }
    end(&bench);
    begin(&bench, "<space name='s'><parameter name='a' type='boolean'/>"
                  "<objective probe='q:snapshot' metric='mean' goal='minimise'/></space>");
    for (int t = 0; t < 4; t++)
        add_one(&bench, t % 2, 0, t < 2 ? 3 : -4);
    find(&bench);
    spex_group_interval(&bench.findings.accuracies[0], &bench.summary, 0, 0, &low, &high);
    assert_true(low < 0 && fabs(low + high + 1) < 1e-12);
    end(&bench);
}

/* Sums of squares by hand: a adds 0 10 20 30, mode nothing, and noise that is the same in all
 * cells. */
TEST(effects) {
    struct bench bench;
    begin(&bench, one_objective);
    for (size_t a = 0; a < 4; a++)
        for (size_t mode = 0; mode < 2; mode++)
            add_one(&bench, a, mode, 10 * (double)a + (mode ? 1 : 0) + 100);
    find(&bench);
    const struct spex_effects *of = &bench.findings.effects;
    /* Total 1002 = 1000 of a + 2 of mode. a: 3 degrees of freedom, 4 are left with 2; mode: 1, and
     * 6 with 1000. */
    assert_true(fabs(of->parameters[0].share - (1000 - 3 * 2.0 / 4) / 1002) < 1e-12);
    assert_true(of->parameters[1].share == 0);
    assert_int_equal(of->parameters[0].bins.count, 4);
    assert_true(of->parameters[0].of_bins[2].mean == 120.5);
    assert_true(of->parameters[0].of_bins[2].best == 121);
    assert_int_equal(of->parameters[0].of_bins[2].configurations, 2);
    /* A model says about the same. */
    assert_true(of->modelled);
    assert_true(spex_effects_share(of, 0).value > 0.95);
    assert_true(spex_effects_share(of, 1).value < 0.05);
    for (size_t i = 0; i < of->interaction_count; i++)
        assert_true(of->interactions[i].share.value < 0.05);
    end(&bench);
}

/* Effects of so many configurations, in which what decides is whether a and b agree: neither says
 * anything on its own. c says a little. */
static void effects_of_agreement(struct bench *bench, size_t configurations,
                                 struct spex_effects *of) {
    static const char xml[] =
        "<space name='s'><parameter name='a' type='boolean'/><parameter name='b' type='boolean'/>"
        "<parameter name='c' type='integer' min='1' max='8'/>"
        "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>";
    begin(bench, xml);
    spex_summary_init(&bench->summary, &bench->file->space);
    for (size_t i = 0; i < configurations; i++) {
        size_t levels[] = {i & 1, i >> 1 & 1, i >> 2};
        struct spex_measured measured = {
            .value = (levels[0] == levels[1] ? 20 : 10) + 2 * (double)(i >> 2 & 1), .error = NAN};
        struct spex_trial trial = {.levels = levels, .ok = true, .measured = &measured};
        assert_int_equal(spex_summary_add(&bench->summary, &trial), 0);
    }
    assert_int_equal(spex_effects_init(of, &bench->summary), 0);
    assert_true(of->parameters[0].share == 0 && of->parameters[1].share == 0);
    assert_true(of->interaction_count >= 1);
    assert_int_equal(of->interactions[0].a, 0);
    assert_int_equal(of->interactions[0].b, 1);
}

TEST(interaction) {
    struct bench bench;
    struct spex_effects of;
    effects_of_agreement(&bench, 32, &of);
    assert_true(of.modelled);
    assert_true(of.interactions[0].share.value > 0.8);
    spex_effects_free(&of);
    end(&bench);
}

/* Too few for a model. Sums of squares, as sevenths: 1168 in all; of the four cells of a and b
 * 1126, of which 48 are of a and 48 of b; noise the rest by 3 degrees of freedom. */
TEST(interaction_without_a_model) {
    struct bench bench;
    struct spex_effects of;
    effects_of_agreement(&bench, 7, &of);
    assert_false(of.modelled);
    assert_true(fabs(of.interactions[0].share.value - (1126 - 48 - 48 - 42 / 3.0) / 1168) < 1e-12);
    spex_effects_free(&of);
    end(&bench);
}

/* A parameter that does not apply has no mean where it does not. */
TEST(conditional) {
    static const char xml[] =
        "<space name='s'><parameter name='on' type='boolean'/>"
        "<parameter name='size' type='integer' min='1' max='3' when='$on'/>"
        "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>";
    struct bench bench;
    begin(&bench, xml);
    add_one(&bench, 0, 0, 1);
    add_one(&bench, 1, 0, 10);
    add_one(&bench, 1, 1, 20);
    add_one(&bench, 1, 2, 30);
    find(&bench);
    const struct spex_effect *size = &bench.findings.effects.parameters[1];
    assert_int_equal(size->not_applying, 1);
    assert_true(size->of_bins[0].mean == 10 && size->of_bins[0].configurations == 1);
    char text[64];
    spex_levels_text(&bench.file->space, (size_t[]){0, 0}, text, sizeof(text));
    assert_string_equal(text, "on=false size=-");
    end(&bench);
}

TEST(bins) {
    static const char xml[] =
        "<space name='s'><parameter name='a' type='integer' min='1' max='100'/>"
        "<parameter name='b' type='integer' min='1' max='1024' factor='2' scale='log'/>"
        "<parameter name='c' type='categorical' values='p q r s t'/>"
        "<parameter name='d' type='integer' unit='B' values='1000 65536 33554432'/>"
        "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>";
    struct spex_space_file *file = space_of(xml);
    struct spex_bins of;
    char text[64];
    assert_int_equal(spex_bins_init(&of, &file->space.parameters[0], 4), 0);
    assert_int_equal(of.count, 4);
    assert_int_equal(of.of_level[0], 0);
    assert_int_equal(of.of_level[99], 3);
    assert_int_equal(of.of_level[49], 1);
    assert_int_equal(of.of_level[50], 2);
    spex_bin_text(&of, 0, text, sizeof(text));
    assert_string_equal(text, "1…25");
    spex_bin_middle_text(&of, 3, text, sizeof(text));
    assert_string_equal(text, "88");
    spex_bins_free(&of);
    assert_int_equal(spex_bins_init(&of, &file->space.parameters[1], 5), 0);
    assert_int_equal(of.count, 5);
    for (size_t l = 0; l < 10; l++) /* equally wide on the scale: two powers a bin */
        assert_int_equal(of.of_level[l], l / 2);
    spex_bins_free(&of);
    assert_int_equal(spex_bins_init(&of, &file->space.parameters[2], 2), 0);
    assert_int_equal(of.count, 5);
    spex_bin_text(&of, 3, text, sizeof(text));
    assert_string_equal(text, "s");
    spex_bins_free(&of);
    assert_int_equal(spex_bins_init(&of, &file->space.parameters[3], 2), 0);
    spex_bin_text(&of, 0, text, sizeof(text));
    assert_string_equal(text, "1000 B…64 KiB");
    spex_bin_plain(&of, 0, text, sizeof(text));
    assert_string_equal(text, "1000…65536");
    spex_bin_middle_text(&of, 1, text, sizeof(text));
    assert_string_equal(text, "32 MiB");
    spex_levels_text(&file->space, (size_t[]){1, 0, 0, 2}, text, sizeof(text));
    assert_string_equal(text, "a=2 b=1 c=p d=32 MiB");
    spex_bins_free(&of);
    spex_space_free(file);
}

static struct spex_sample sample_at(const void *user, size_t index) {
    return ((const struct spex_sample *)user)[index];
}

/* Eleven trials each, of a coefficient of variation of 10 %: the error of a mean is 10 % /
 * sqrt(11). */
TEST(changes) {
    struct spex_sample samples[30];
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        double mean = i % 2 ? 110 : 100;
        samples[i] = (struct spex_sample){.trials = 11, .mean = mean, .squares = mean * mean * 0.1};
    }
    struct spex_accuracy accuracy;
    spex_accuracy_learn(&accuracy, sample_at, samples, COUNT_OF(samples));
    assert_true(accuracy.ratios && accuracy.repeated);
    assert_true(fabs(spex_accuracy_error(&accuracy, &samples[0]) - 10 / sqrt(11)) < 0.15);
    struct spex_change change = spex_change_of(&accuracy, &samples[0], &samples[1]);
    double margin = 1.97 * sqrt(2.0 / 11) * 0.1;
    assert_true(change.ratio && change.known && change.significant);
    assert_true(fabs(change.value - 1.1) < 1e-12);
    assert_true(fabs(log(change.low / 1.1) + margin) < 0.005);
    assert_true(fabs(log(change.high / 1.1) - margin) < 0.005);
    change = spex_change_of(&accuracy, &samples[0], &samples[2]);
    assert_false(change.significant);
    assert_true(change.value == 1 && change.size == 0);
}

/* Zeros have no ratio; nothing repeated has no interval. */
TEST(changes_without_ratio_or_error) {
    struct spex_sample samples[] = {{.trials = 4, .mean = 0, .squares = 0},
                                    {.trials = 4, .mean = 50, .squares = 3}};
    struct spex_accuracy accuracy;
    spex_accuracy_learn(&accuracy, sample_at, samples, 2);
    assert_false(accuracy.ratios);
    struct spex_change change = spex_change_of(&accuracy, &samples[0], &samples[1]);
    assert_true(!change.ratio && change.value == 50 && change.significant);
    samples[0].trials = samples[1].trials = 1;
    samples[0].mean = 25;
    spex_accuracy_learn(&accuracy, sample_at, samples, 2);
    change = spex_change_of(&accuracy, &samples[0], &samples[1]);
    assert_true(change.ratio && change.value == 2 && !change.known && !change.significant);
    change = spex_change_of_pairs(log(1.5), 0, 1, true);
    assert_true(!change.known && fabs(change.value - 1.5) < 1e-12);
}
