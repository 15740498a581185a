/* SPDX-License-Identifier: MIT */
/* Effects of parameters and of pairs of them on the first objective: shares of the variance between
 * configurations, by an analysis of variance of the configurations that were run, and from
 * sensitivity.h's model of the whole space if there are enough of them. */
#include "explore/findings/effects.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The configurations with a result, and the variance of their means. */
struct whole {
    const struct spex_summary *summary;
    double count, mean, squares;

    /* The bin of each group and parameter; the number of bins where the parameter does not
     * apply. */
    size_t *rows;
};

/* Where the bin of a group's parameter stands in `rows`. */
static size_t *row_of(const struct whole *whole, size_t group, size_t p) {
    return &whole->rows[group * whole->summary->space->parameter_count + p];
}

/* A sum of squares in the analysis of variance, with its degrees of freedom. */
struct explained {
    double squares, freedom;
};

static double group_objective(const struct spex_group *group) {
    return group->criteria[0].mean;
}

/* Welford's algorithm, over the means of configurations: each counts once, whatever its trials. */
static void whole_learn(struct whole *whole, const struct spex_summary *summary) {
    for (size_t g = 0; g < summary->count; g++) {
        if (!summary->groups[g].trials)
            continue;
        double difference = group_objective(&summary->groups[g]) - whole->mean;
        whole->mean += difference / ++whole->count;
        whole->squares += difference * (group_objective(&summary->groups[g]) - whole->mean);
    }
}

/* Kelley's epsilon squared: the share of the variance explained, less what as many random groups
 * would explain. NaN when there are too few configurations. */
static double share_explained(const struct whole *whole, struct explained explained) {
    double rest = whole->count - 1 - explained.freedom;
    if (rest < 1 || explained.freedom < 1 || !(whole->squares > 0))
        return NAN;
    double noise = (whole->squares - explained.squares) / rest;
    return fmax((explained.squares - explained.freedom * noise) / whole->squares, 0);
}

/* `value`: the mean of one more configuration. */
static void add_to_bin(struct spex_effect_bin *bin, double value, bool maximise) {
    if (bin->configurations++ == 0) {
        bin->mean = bin->best = value;
        return;
    }
    bin->mean += (value - bin->mean) / (double)bin->configurations;
    bin->best = maximise ? fmax(bin->best, value) : fmin(bin->best, value);
}

/* The sum of squares between bins. The configurations to which the parameter does not apply are one
 * bin more; their mean follows from that of all. */
static struct explained explain_parameter(const struct whole *whole,
                                          const struct spex_effect *effect) {
    struct explained explained = {0, -1};
    double elsewhere = (double)effect->not_applying, others = whole->mean * whole->count;
    for (size_t b = 0; b < effect->bins.count; b++) {
        const struct spex_effect_bin *bin = &effect->of_bins[b];
        if (!bin->configurations)
            continue;
        double count = (double)bin->configurations, difference = bin->mean - whole->mean;
        explained.squares += count * difference * difference;
        explained.freedom++;
        others -= count * bin->mean;
    }
    if (elsewhere > 0) {
        double difference = others / elsewhere - whole->mean;
        explained.squares += elsewhere * difference * difference;
        explained.freedom++;
    }
    return explained;
}

/* Notes in `rows` where each group belongs, for the pairs of parameters. */
static int effect_init(struct spex_effect *effect, const struct whole *whole, size_t p) {
    const struct spex_space *space = whole->summary->space;
    bool maximise = space->criteria[0].goal == SPEX_MAXIMISE;
    if (spex_bins_init(&effect->bins, &space->parameters[p], SPEX_EFFECT_BINS))
        return -ENOMEM;
    effect->of_bins = calloc(effect->bins.count, sizeof(*effect->of_bins));
    if (!effect->of_bins)
        return -ENOMEM;
    for (size_t b = 0; b < effect->bins.count; b++)
        effect->of_bins[b] = (struct spex_effect_bin){0, NAN, NAN};
    for (size_t g = 0; g < whole->summary->count; g++) {
        const struct spex_group *group = &whole->summary->groups[g];
        if (!group->trials)
            continue;
        bool applies = spex_space_applies(space, group->levels, p);
        size_t row = applies ? effect->bins.of_level[group->levels[p]] : effect->bins.count;
        *row_of(whole, g, p) = row;
        if (applies)
            add_to_bin(&effect->of_bins[row], group_objective(group), maximise);
        else
            effect->not_applying++;
    }
    effect->share = share_explained(whole, explain_parameter(whole, effect));
    return 0;
}

/* Descending order of shares; pairs of equal shares in the order of the parameters. */
static int compare_interactions(const void *a, const void *b) {
    const struct spex_interaction *one = a, *other = b;
    if (one->share.value != other->share.value)
        return one->share.value > other->share.value ? -1 : 1;
    return one->a != other->a ? (one->a < other->a ? -1 : 1) : one->b < other->b ? -1 : 1;
}

/* Cells of two parameters' bins, with one row and one column more for "does not apply". */
struct cells {
    double *sums;
    double *counts;
    size_t rows, columns;
};

/* Sums are of differences from the mean of all, which keeps them small. */
static void cells_fill(const struct cells *cells, const struct whole *whole, size_t a, size_t b) {
    for (size_t g = 0; g < whole->summary->count; g++) {
        const struct spex_group *group = &whole->summary->groups[g];
        if (!group->trials)
            continue;
        size_t cell = *row_of(whole, g, a) * cells->columns + *row_of(whole, g, b);
        cells->sums[cell] += group_objective(group) - whole->mean;
        cells->counts[cell]++;
    }
}

/* The sum of squares between cells, whose sums are of differences from the mean of all. */
static struct explained explain_cells(const struct cells *cells) {
    struct explained explained = {0, -1};
    for (size_t i = 0; i < cells->rows * cells->columns; i++)
        if (cells->counts[i] > 0) {
            explained.squares += cells->sums[i] * cells->sums[i] / cells->counts[i];
            explained.freedom++;
        }
    return explained;
}

/* The share that the cells explain beyond both parameters by themselves. */
static double interaction_share(const struct whole *whole, const struct spex_effects *effects,
                                const struct cells *cells, size_t a, size_t b) {
    struct explained both = explain_cells(cells);
    struct explained first = explain_parameter(whole, &effects->parameters[a]);
    struct explained second = explain_parameter(whole, &effects->parameters[b]);
    double rest = whole->count - 1 - both.freedom;
    struct explained beyond = {both.squares - first.squares - second.squares,
                               both.freedom - first.freedom - second.freedom};
    if (rest < 1 || beyond.freedom < 1 || !(whole->squares > 0))
        return NAN;
    double noise = (whole->squares - both.squares) / rest;
    return fmax((beyond.squares - beyond.freedom * noise) / whole->squares, 0);
}

/* Pairs that explain nothing beyond chance are left out, and those with too little data (NaN). */
static int effects_add_pair(struct spex_effects *effects, const struct whole *whole, size_t a,
                            size_t b) {
    struct cells cells = {.rows = effects->parameters[a].bins.count + 1,
                          .columns = effects->parameters[b].bins.count + 1};
    size_t count = cells.rows * cells.columns;
    cells.sums = calloc(2 * count, sizeof(double));
    if (!cells.sums)
        return -ENOMEM;
    cells.counts = cells.sums + count;
    cells_fill(&cells, whole, a, b);
    double share = interaction_share(whole, effects, &cells, a, b);
    if (share > 0)
        effects->interactions[effects->interaction_count++] =
            (struct spex_interaction){a, b, {share, NAN, NAN}};
    free(cells.sums);
    return 0;
}

/* Returns the means of the first objective as inputs of the sensitivity analysis; NULL: out of
 * memory. */
static struct spex_sensitivity_input *sensitivity_inputs(const struct spex_summary *summary) {
    struct spex_sensitivity_input *inputs = calloc(summary->count + 1, sizeof(*inputs));
    for (size_t g = 0; g < summary->count && inputs; g++) {
        const struct spex_group *group = &summary->groups[g];
        inputs[g] = (struct spex_sensitivity_input){
            group->levels, group->trials, group_objective(group), group->criteria[0].squares};
    }
    return inputs;
}

/* The share of the variance to which a parameter contributes together with others. */
static double interaction_total(const struct spex_effects *effects, size_t p) {
    const struct spex_sensitivity *of = &effects->parameters[p].sensitivity;
    return of->total.value - of->main.value;
}

/* Sets ranked[] to the parameters with the greatest interactions, at most `most`. Returns how
 * many. */
static size_t rank_by_interaction(const struct spex_effects *effects, size_t *ranked, size_t most) {
    size_t count = 0;
    for (size_t p = 0; p < effects->parameter_count; p++) {
        size_t at = count;
        while (at > 0 && interaction_total(effects, p) > interaction_total(effects, ranked[at - 1]))
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(&ranked[at + 1], &ranked[at], (count - 1 - at) * sizeof(*ranked));
        ranked[at] = p;
    }
    return count;
}

/* Models the pairs among the SPEX_EFFECT_PAIRS parameters with the greatest interactions. They
 * replace the pairs from the analysis of variance. Each pair costs fits of the process, so not all
 * are done. */
static int effects_model_pairs(struct spex_effects *effects, const struct spex_summary *summary,
                               const struct spex_sensitivity_input *inputs) {
    size_t ranked[SPEX_EFFECT_PAIRS], pairs = 0;
    size_t count = rank_by_interaction(effects, ranked, SPEX_EFFECT_PAIRS);
    int err = 0;
    for (size_t i = 0; i < count && !err; i++)
        for (size_t j = 0; j < i && !err; j++) {
            struct spex_interaction *pair = &effects->interactions[pairs++];
            pair->a = ranked[i] < ranked[j] ? ranked[i] : ranked[j];
            pair->b = ranked[i] < ranked[j] ? ranked[j] : ranked[i];
            err = spex_sensitivity_pair(summary->space, inputs, summary->count, pair->a, pair->b,
                                        &pair->share);
        }
    effects->interaction_count = pairs;
    return err;
}

/* Replaces the effects among what was run, which may be a small and biased part of the space, by
 * those in a model of the whole space. 0 also when there is too little data for a model; or
 * -ENOMEM. */
static int effects_model(struct spex_effects *effects, const struct spex_summary *summary) {
    struct spex_sensitivity_input *inputs = sensitivity_inputs(summary);
    struct spex_sensitivity *all = calloc(effects->parameter_count, sizeof(*all));
    int err =
        inputs && all ? spex_sensitivity_of(summary->space, inputs, summary->count, all) : -ENOMEM;
    effects->modelled = !err;
    for (size_t p = 0; p < effects->parameter_count && !err; p++)
        effects->parameters[p].sensitivity = all[p];
    err = err ? err : effects_model_pairs(effects, summary, inputs);
    free(inputs);
    free(all);
    return err == -ENODATA ? 0 : err;
}

/* O(parameters² × configurations), and the model. `rows` is needed here alone. */
int spex_effects_init(struct spex_effects *effects, const struct spex_summary *summary) {
    size_t count = summary->space->parameter_count;
    struct whole whole = {.summary = summary};
    *effects = (struct spex_effects){.parameter_count = count};
    effects->parameters = calloc(count, sizeof(*effects->parameters));
    effects->interactions = calloc(count * count, sizeof(*effects->interactions));
    whole.rows = calloc(summary->count * count + 1, sizeof(size_t));
    int err = effects->parameters && effects->interactions && whole.rows ? 0 : -ENOMEM;
    whole_learn(&whole, summary);
    for (size_t p = 0; p < count && !err; p++)
        err = effect_init(&effects->parameters[p], &whole, p);
    for (size_t a = 0; a < count && !err; a++)
        for (size_t b = a + 1; b < count && !err; b++)
            err = effects_add_pair(effects, &whole, a, b);
    err = err ? err : effects_model(effects, summary);
    if (!err)
        qsort(effects->interactions, effects->interaction_count, sizeof(*effects->interactions),
              compare_interactions);
    free(whole.rows);
    return err;
}

struct spex_sensitivity_share spex_effects_share(const struct spex_effects *effects, size_t p) {
    const struct spex_effect *effect = &effects->parameters[p];
    return effects->modelled ? effect->sensitivity.main
                             : (struct spex_sensitivity_share){effect->share, NAN, NAN};
}

void spex_effects_free(struct spex_effects *effects) {
    for (size_t p = 0; effects->parameters && p < effects->parameter_count; p++) {
        spex_bins_free(&effects->parameters[p].bins);
        free(effects->parameters[p].of_bins);
    }
    free(effects->parameters);
    free(effects->interactions);
    *effects = (struct spex_effects){.parameter_count = 0};
}
