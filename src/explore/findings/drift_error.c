/* SPDX-License-Identifier: MIT */
/* A linear mixed model: a trial's figure over the mean of its configuration is the machine's speed, which
 * all configurations share and which is an autoregressive process in the order of trials, and noise of
 * the configuration's own. How much and how slowly the speed changes is not known: it is averaged over a
 * grid, weighted by the restricted likelihood (Patterson and Thompson, Recovery of Inter-Block Information
 * When Block Sizes are Unequal, 1971), with even odds before that it does not change at all. */
#include "explore/findings/drift_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"
#include "policies/explore/noise.h"

/* Trials of which the model is made: those of the configurations that were repeated most. */
enum { TRIALS_MAX = 160, MEMORIES = 4, SHARES = 6 };

/* In how many trials the machine forgets, and its variance over that of a trial. */
static const double memories[MEMORIES] = {4, 16, 64, 256};
static const double shares[SHARES] = {0.01, 0.03, 0.1, 0.3, 1, 3};

/* A way in which the machine may change. */
struct change {
    double memory, variance, weight;
};

struct model {
    size_t count, groups; /* trials, configurations */
    double at[TRIALS_MAX], value[TRIALS_MAX];
    size_t of[TRIALS_MAX];
    double noise[TRIALS_MAX];   /* variance, of each configuration */
    double (*root)[TRIALS_MAX]; /* Cholesky's factor of the trials' covariances */
    double (*design)[TRIALS_MAX];
    double (*means)[TRIALS_MAX]; /* that of the configurations' means' information */
    double typical;
    struct change changes[MEMORIES * SHARES];
    size_t change_count;
};

/* Factorises in place the lower half of a matrix; half of the logarithm of its determinant. */
static double factorise(double (*matrix)[TRIALS_MAX], size_t count) {
    double half = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i][j];
            for (size_t k = 0; k < j; k++)
                sum -= matrix[i][k] * matrix[j][k];
            matrix[i][j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / matrix[j][j];
            half += i == j ? log(matrix[i][i]) : 0;
        }
    return half;
}

/* Solves for a vector, in place. */
static void solve(double (*root)[TRIALS_MAX], size_t count, double *vector) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            vector[i] -= root[i][k] * vector[k];
        vector[i] /= root[i][i];
    }
}

static double product(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The logarithm of the restricted likelihood, and the factor by which both variances fit best. */
static double likelihood(struct model *model, double memory, double variance, double *factor) {
    double values[TRIALS_MAX], among[TRIALS_MAX], half;
    for (size_t i = 0; i < model->count; i++) {
        values[i] = model->value[i];
        for (size_t j = 0; j <= i; j++)
            model->root[i][j] =
                variance > 0 ? variance * exp((model->at[j] - model->at[i]) / memory) : 0;
        model->root[i][i] += model->noise[model->of[i]];
    }
    half = factorise(model->root, model->count);
    solve(model->root, model->count, values);
    for (size_t g = 0; g < model->groups; g++) {
        for (size_t i = 0; i < model->count; i++)
            model->design[g][i] = model->of[i] == g;
        solve(model->root, model->count, model->design[g]);
        among[g] = product(model->design[g], values, model->count);
        for (size_t h = 0; h <= g; h++)
            model->means[g][h] = product(model->design[g], model->design[h], model->count);
    }
    half += factorise(model->means, model->groups);
    solve(model->means, model->groups, among);
    double freedom = (double)(model->count - model->groups);
    double squares = product(values, values, model->count) - product(among, among, model->groups);
    *factor = fmax(squares / freedom, 1e-300);
    return -half - freedom * log(*factor) / 2;
}

/* Weighs all ways in which the machine may change. */
static void model_weigh(struct model *model) {
    double factor, none = likelihood(model, 1, 0, &factor), most = none, sum;
    for (size_t i = 0; i < MEMORIES * SHARES; i++) {
        struct change *change = &model->changes[i];
        *change = (struct change){memories[i / SHARES], shares[i % SHARES] * model->typical, 0};
        change->weight = likelihood(model, change->memory, change->variance, &factor);
        change->variance *= factor;
        most = fmax(most, change->weight);
    }
    model->change_count = MEMORIES * SHARES;
    sum = exp(none - most);
    for (size_t i = 0; i < model->change_count; i++) {
        model->changes[i].weight = exp(model->changes[i].weight - most) / (MEMORIES * SHARES);
        sum += model->changes[i].weight;
    }
    for (size_t i = 0; i < model->change_count; i++)
        model->changes[i].weight /= sum;
}

/* When a trial of a group was. */
struct place {
    size_t group, at;
};

static int compare_places(const void *a, const void *b) {
    const struct place *one = a, *other = b;
    if (one->group != other->group)
        return one->group < other->group ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

/* The variance of the mean of the machine's speed at the trials of a group, of many by every so many. */
static double group_variance(const struct model *model, const struct place *places, size_t count) {
    double variance = 0;
    size_t every = count / TRIALS_MAX + 1, used = (count + every - 1) / every;
    for (size_t c = 0; c < model->change_count; c++) {
        const struct change *change = &model->changes[c];
        double together = 0;
        for (size_t i = 0; i < used; i++)
            for (size_t j = 0; j < i; j++)
                together +=
                    exp(-(double)(places[i * every].at - places[j * every].at) / change->memory);
        variance += change->weight * change->variance * (2 * together + (double)used) /
                    (double)(used * used);
    }
    return variance;
}

/* Of which trials the model is made: of every so many of those of groups that have at least so many. */
struct choice {
    uint64_t least, every;
};

/* Adds a trial to the model. */
static void model_add(struct model *model, const struct spex_group *group, double at, double value,
                      const struct spex_noise *noise, size_t *number) {
    double mean = group->criteria[0].mean;
    if (*number == SIZE_MAX) {
        *number = model->groups++;
        model->noise[*number] = spex_noise_variance(noise, (double)group->trials,
                                                    group->criteria[0].squares / (mean * mean));
    }
    model->at[model->count] = at;
    model->of[model->count] = *number;
    model->value[model->count++] = value / mean - 1;
}

/* False: they are too many. */
static bool model_take(struct model *model, const struct spex_summary *summary,
                       const struct spex_final_trials *trials, const struct spex_noise *noise,
                       struct choice choice, size_t *numbers) {
    uint64_t seen = 0;
    model->count = model->groups = 0;
    for (size_t g = 0; g < summary->count; g++)
        numbers[g] = SIZE_MAX;
    for (size_t t = 0; t < trials->count; t++) {
        const struct spex_final_trial *trial = &trials->items[t];
        const struct spex_group *group = &summary->groups[trial->group];
        if (group->trials < choice.least || !isfinite(trial->value) ||
            group->criteria[0].mean == 0 || seen++ % choice.every)
            continue;
        if (model->count == TRIALS_MAX)
            return false;
        model_add(model, group, (double)t, trial->value, noise, &numbers[trial->group]);
    }
    return true;
}

/* Makes the model; false: there are fewer repeats than ways to be weighed, or nothing varies. */
static bool model_make(struct model *model, const struct spex_summary *summary,
                       const struct spex_final_trials *trials, size_t *numbers) {
    struct spex_noise_sums sums = {0};
    struct choice choice = {2, 1};
    uint64_t most = 0;
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        double mean = group->trials ? group->criteria[0].mean : 0;
        most = group->trials > most ? group->trials : most;
        if (group->trials > 1 && mean != 0)
            spex_noise_add(&sums, (double)group->trials,
                           group->criteria[0].squares / (mean * mean));
    }
    struct spex_noise noise = spex_noise_of(&sums);
    while (!model_take(model, summary, trials, &noise, choice, numbers))
        if (choice.least < most / 2)
            choice.least++;
        else
            choice.every *= 2;
    double logarithms = 0;
    for (size_t i = 0; i < model->count; i++)
        logarithms += log(model->noise[model->of[i]]) / (double)model->count;
    model->typical = exp(logarithms);
    return model->count >= model->groups + (size_t)MEMORIES * SHARES && sums.all_squares > 0;
}

/* One end of an interval, further from the estimate. Ratios stay above 0. */
static double moved(double estimate, double end, double reach) {
    if (end / estimate > 0)
        return estimate * exp(copysign(hypot(log(end / estimate), reach), log(end / estimate)));
    return estimate + copysign(hypot(end - estimate, reach * estimate), end - estimate);
}

static void widen(struct spex_ranking *standing, double variance) {
    double reach = SPEX_NORMAL_95 * sqrt(variance), estimate = standing->estimate;
    if (!(variance > 0) || standing->exact || !(fabs(estimate) > 0))
        return;
    standing->low = moved(estimate, standing->low, reach);
    standing->high = moved(estimate, standing->high, reach);
    standing->margin = hypot(standing->margin, reach * estimate);
}

/* Widens what is told of each group that has a trial. */
static void widen_all(const struct model *model, const struct spex_final_trials *trials,
                      struct place *places, struct spex_ranking *standings) {
    for (size_t t = 0; t < trials->count; t++)
        places[t] = (struct place){trials->items[t].group, t};
    qsort(places, trials->count, sizeof(*places), compare_places);
    for (size_t from = 0, to; from < trials->count; from = to) {
        for (to = from + 1; to < trials->count && places[to].group == places[from].group;)
            to++;
        widen(&standings[places[from].group], group_variance(model, places + from, to - from));
    }
}

int spex_drift_widen(const struct spex_summary *summary, const struct spex_final_trials *trials,
                     struct spex_ranking *standings) {
    struct model *model = calloc(1, sizeof(*model));
    double(*rows)[TRIALS_MAX] = calloc(3 * (size_t)TRIALS_MAX, sizeof(*rows));
    size_t *numbers = calloc(summary->count + 1, sizeof(*numbers));
    struct place *places = calloc(trials->count + 1, sizeof(*places));
    int err = model && rows && numbers && places ? 0 : -ENOMEM;
    if (!err) {
        model->root = rows;
        model->design = rows + TRIALS_MAX;
        model->means = rows + 2 * (size_t)TRIALS_MAX;
    }
    if (!err && model_make(model, summary, trials, numbers)) {
        model_weigh(model);
        widen_all(model, trials, places, standings);
    }
    free(places);
    free(numbers);
    free(rows);
    free(model);
    return err;
}
