/* SPDX-License-Identifier: MIT */
/* How often the model that is found is the true one, on made-up cases; and how often its intervals
 * hold. */
#include <math.h>

#include "../check.h"
#include "cases.h"
#include "measured.h"

enum { SEEDS = 24 };

struct tally {
    size_t known, exact, lead, wrongly_unknown;
    size_t all, class_right, unknown, unknown_found;
    double beyond[SEEDS * 64];
    /* Intervals at twice and four times the range that hold the truth; half-widths of the
     * latter. */
    size_t held[2];
    double halves[SEEDS * 64];
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Whether the interval of a case, at its largest values doubled so many times, holds the truth.
 * *half: half of its width, relative to the truth. */
static bool holds_beyond(const struct model_case *made, const struct spex_fit *fit, int doubled,
                         double *half) {
    double at[SPEX_MODEL_PARAMETERS_MAX];
    for (size_t p = 0; p < made->parameter_count; p++)
        at[p] = ldexp(made->most[p], doubled);
    struct spex_prediction predicted = spex_fit_predict(fit, at);
    double truth = spex_model_value(&made->truth, at);
    *half = (predicted.high - predicted.low) / 2 / truth;
    return predicted.low <= truth * (1 + 1e-6) && truth <= predicted.high * (1 + 1e-6);
}

static void count(struct tally *tally, const struct model_case *made, const struct spex_fit *fit) {
    struct model_verdict verdict = model_verdict_of(made, fit);
    bool called_unknown = fit->model.class == SPEX_MODEL_UNKNOWN;
    tally->all++;
    tally->class_right += verdict.class_right;
    if (made->truth.class == SPEX_MODEL_UNKNOWN) {
        tally->unknown++;
        /* A V of ten sizes has two parts. */
        tally->unknown_found += called_unknown || (fit->model.change_count && made->changes);
        return;
    }
    for (int d = 0; d < 2; d++)
        tally->held[d] += holds_beyond(made, fit, d + 1, &tally->halves[tally->known]);
    tally->beyond[tally->known++] = verdict.beyond;
    tally->exact += verdict.exact;
    tally->lead += verdict.lead;
    tally->wrongly_unknown += called_unknown;
}

static void must_fit(const struct model_case *made, struct spex_fit *fit) {
    int err = spex_fit(&made->measured, fit);
    if (err)
        fail_msg("%s: %d", made->name, err);
}

static void expect_share(const char *what, size_t good, size_t all, double at_least) {
    double share = (double)good / (double)all;
    print_message("%s: %.1f %% of %zu\n", what, 100 * share, all);
    if (share < at_least)
        fail_msg("%s: less than %.0f %%", what, 100 * at_least);
}

TEST(what_is_found_is_true) {
    static struct tally tally;
    assert_true(model_case_kinds() <= 64);
    for (size_t kind = 0; kind < model_case_kinds(); kind++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct model_case made;
            struct spex_fit fit;
            model_case_make(&made, kind, seed);
            must_fit(&made, &fit);
            count(&tally, &made, &fit);
            model_case_free(&made);
        }
    qsort(tally.beyond, tally.known, sizeof(double), by_value);
    expect_share("exact", tally.exact, tally.known, 0.9);
    expect_share("lead", tally.lead, tally.known, 0.96);
    expect_share("class", tally.class_right, tally.all, 0.96);
    expect_share("patternless found", tally.unknown_found, tally.unknown, 1);
    expect_share("not wrongly unknown", tally.known - tally.wrongly_unknown, tally.known, 0.98);
    double beyond = tally.beyond[tally.known * 95 / 100];
    print_message("at four times the range: %.1f %% off (95th percentile)\n", 100 * beyond);
    assert_true(beyond < 0.12);
    expect_share("intervals hold at twice the range", tally.held[0], tally.known, 0.96);
    expect_share("intervals hold at four times the range", tally.held[1], tally.known, 0.96);
    qsort(tally.halves, tally.known, sizeof(double), by_value);
    print_message("half-width at four times the range: %.3f\n", tally.halves[tally.known / 2]);
    assert_true(tally.halves[tally.known / 2] < 0.15);
}

/* Where there is no noise there is no excuse. */
TEST(without_noise_all_are_exact) {
    for (size_t kind = 0; kind < model_case_kinds(); kind++)
        for (uint64_t seed = 12; seed <= 60; seed += 12) {
            struct model_case made;
            struct spex_fit fit;
            model_case_make(&made, kind, seed);
            assert_true(made.noise == 0);
            must_fit(&made, &fit);
            struct model_verdict verdict = model_verdict_of(&made, &fit);
            if (made.truth.class != SPEX_MODEL_UNKNOWN && !verdict.exact)
                fail_msg("%s, seed %d", made.name, (int)seed);
            model_case_free(&made);
        }
}

/* Half of the measurements, chosen by chance, foretell the others. */
TEST(intervals_hold) {
    size_t held = 0, all = 0;
    uint64_t random = 5;
    for (size_t kind = 0; kind < model_case_kinds(); kind++)
        for (uint64_t seed = 1; seed <= 16; seed++) {
            struct model_case made;
            struct spex_fit fit;
            model_case_make(&made, kind, seed);
            size_t width = made.parameter_count, rows = made.measured.count, kept = 0;
            double *parameters = calloc(rows * width, sizeof(double)),
                   *times = calloc(rows, sizeof(double));
            bool *chosen = calloc(rows, sizeof(bool));
            assert_true(parameters && times && chosen);
            for (size_t r = 0; r < rows; r++) {
                chosen[r] = random_below(&random, 2);
                for (size_t p = 0; p < width && chosen[r]; p++)
                    parameters[kept * width + p] = made.parameters[r * width + p];
                if (chosen[r])
                    times[kept++] = made.times[r];
            }
            const struct spex_measurements half = {width, kept, parameters, times, NULL};
            assert_int_equal(spex_fit(&half, &fit), 0);
            bool judged = made.noise > 0 && made.truth.class != SPEX_MODEL_UNKNOWN &&
                          !strstr(made.name, "outliers");
            for (size_t r = 0; r < rows && judged; r++)
                if (!chosen[r]) {
                    struct spex_prediction prediction =
                        spex_model_predict(&fit.model, made.parameters + r * width);
                    all++;
                    held += prediction.low <= made.times[r] && made.times[r] <= prediction.high;
                }
            free(parameters);
            free(times);
            free(chosen);
            model_case_free(&made);
        }
    double share = (double)held / (double)all;
    print_message("intervals hold in %.1f %% of %zu\n", 100 * share, all);
    assert_true(share > 0.92 && share < 0.98);
}

/* Kernels that bench/beyond has measured, on a busy machine: caches and other programs change the
 * times by more than any form explains. */
TEST(measured_kernels) {
    static struct measured_account account;
    struct measured_kernel kernel;
    char next[256] = "";
    FILE *in = fopen(KERNELS, "r");
    assert_non_null(in);
    while (measured_read(in, &kernel, next))
        measured_count(&account, &kernel);
    fclose(in);
    expect_share("lead of measured kernels", account.lead, account.cases, 0.8);
    for (size_t beyond = 0; beyond < 2; beyond++) {
        const struct measured_predictions *predictions = &account.beyond[beyond];
        double half = measured_median_half(&account, beyond);
        print_message("%zu times the range: half-width %.2f, interval score %.2f\n",
                      (size_t)2 << beyond, half, predictions->score / (double)account.cases);
        expect_share("intervals hold", predictions->held, account.cases, 0.9);
        assert_true(half < 1);
    }
}
