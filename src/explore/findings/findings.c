/* SPDX-License-Identifier: MIT */
/* Computes the findings of a study, which all forms of reports print: who competes, the ranking,
 * the Pareto front, failures, convergence and effects. Printing computes nothing, so that all forms
 * say the same. */
#define _GNU_SOURCE
#include "explore/findings/findings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "explore/findings/drift_error.h"
#include "policies/explore/configurations.h"

/* Of two trials it says little how much they differ. */
enum { UNSTABLE_TRIALS = 3 };

/* Configurations that exceed a limit do not compete, unless all do. */
static int findings_rank(struct spex_findings *findings, const struct spex_summary *summary) {
    struct spex_ranking_input *inputs = calloc(summary->count + 1, sizeof(*inputs));
    if (!inputs)
        return -ENOMEM;
    findings->limits_kept = spex_ranking_inputs(summary, inputs);
    for (size_t g = 0; g < summary->count; g++)
        findings->competes[g] = inputs[g].trials > 0;
    int err =
        spex_ranking_of(inputs, summary->count, summary->space->criteria[0].goal == SPEX_MAXIMISE,
                        findings->standings, &findings->best);
    free(inputs);
    return err;
}

int spex_findings_order(const struct spex_findings *findings, const struct spex_space *space,
                        size_t a, size_t b) {
    double one = findings->standings[a].estimate, other = findings->standings[b].estimate;
    if (isnan(one) != isnan(other))
        return isnan(other) ? -1 : 1;
    if (one != other && !isnan(one))
        return (one > other) == (space->criteria[0].goal == SPEX_MAXIMISE) ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* By the means; the first of equals. */
static void findings_find_worst(struct spex_findings *findings,
                                const struct spex_summary *summary) {
    findings->worst = SPEX_RANKING_NONE;
    for (size_t g = 0; g < summary->count; g++)
        if (findings->competes[g] &&
            (findings->worst == SPEX_RANKING_NONE ||
             spex_findings_order(findings, summary->space, findings->worst, g) < 0))
            findings->worst = g;
}

/* The first of equals, but the recommended one before all. */
static void findings_find_measured(struct spex_findings *findings,
                                   const struct spex_summary *summary) {
    bool most = summary->space->criteria[0].goal == SPEX_MAXIMISE;
    findings->measured = findings->best;
    for (size_t g = 0; findings->best != SPEX_RANKING_NONE && g < summary->count; g++) {
        double mean = summary->groups[g].criteria[0].mean;
        double least = summary->groups[findings->measured].criteria[0].mean;
        if (findings->competes[g] && (most ? mean > least : mean < least))
            findings->measured = g;
    }
}

/* What is known of the space beyond those tried. */
static int findings_look_beyond(struct spex_findings *findings,
                                const struct spex_summary *summary) {
    const struct spex_space *space = summary->space;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    findings->configurations = spex_configurations_distinct(space, levels);
    free(levels);
    if (findings->best == SPEX_RANKING_NONE || findings->configurations <= summary->count)
        return 0;
    return spex_untried_find(summary, &findings->accuracies[0],
                             findings->standings[findings->best].estimate, &findings->untried);
}

struct by_estimate {
    const struct spex_findings *findings;
    const struct spex_space *space;
};

static int compare_estimates(const void *a, const void *b, void *user) {
    const struct by_estimate *by = user;
    return spex_findings_order(by->findings, by->space, *(const size_t *)a, *(const size_t *)b);
}

/* What finals have decided, and what a drift adds to errors. */
static int findings_race(struct spex_findings *findings, const struct spex_summary *summary,
                         const struct spex_trials *trials) {
    struct spex_final_trials ordered = {.items = NULL};
    int err = 0;
    for (size_t t = 0; !err && t < trials->count; t++)
        err = spex_final_trials_add(&ordered, summary, &trials->items[t]);
    err = err ? err : spex_final_race_find(summary, &ordered, findings->standings, &findings->race);
    if (!err)
        spex_final_race_decide(&findings->race, findings->standings, &findings->best);
    err = err ? err : spex_drift_widen(summary, &ordered, findings->standings);
    spex_final_trials_free(&ordered);
    return err;
}

double spex_findings_spread(const struct spex_group *group) {
    const struct spex_group_criterion *of = &group->criteria[0];
    return group->trials < UNSTABLE_TRIALS || of->mean == 0 ? 0
                                                            : (of->high - of->low) / fabs(of->mean);
}

/* Lists the groups that the ranking cannot tell from the best. */
static void findings_find_tied(struct spex_findings *findings, const struct spex_summary *summary) {
    for (size_t g = 0; g < summary->count; g++)
        if (findings->competes[g] && findings->standings[g].tied)
            findings->tied[findings->tied_count++] = g;
    struct by_estimate by = {findings, summary->space};
    qsort_r(findings->tied, findings->tied_count, sizeof(size_t), compare_estimates, &by);
}

/* The best by the first objective first; equals in the order of the groups. */
static int compare_front(const void *a, const void *b, void *user) {
    const struct spex_summary *summary = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    double difference =
        summary->groups[one].criteria[0].mean - summary->groups[other].criteria[0].mean;
    if (difference != 0)
        return (difference > 0) == (summary->space->criteria[0].goal == SPEX_MAXIMISE) ? -1 : 1;
    return one < other ? -1 : one > other;
}

/* Lists the groups on the front by the first objective. */
static int findings_find_front(struct spex_findings *findings, const struct spex_summary *summary) {
    if (spex_pareto(summary, findings->competes, findings->accuracies, findings->places))
        return -ENOMEM;
    for (size_t g = 0; g < summary->count; g++) {
        if (findings->places[g] >= SPEX_PARETO_FRONT)
            findings->front[findings->front_count++] = g;
        findings->perhaps_count += findings->places[g] == SPEX_PARETO_PERHAPS;
    }
    qsort_r(findings->front, findings->front_count, sizeof(size_t), compare_front,
            (void *)(uintptr_t)summary);
    return 0;
}

static void findings_add_up(struct spex_findings *findings, const struct spex_trials *trials) {
    for (size_t t = 0; t < trials->count; t++) {
        findings->failed += !trials->items[t].ok;
        findings->unsteady += trials->items[t].ok && !trials->items[t].steady;
        findings->records_used += trials->items[t].records_used;
        findings->records_lost += trials->items[t].records_lost;
        findings->seconds += trials->items[t].seconds;
    }
}

/* One element more than groups, so that calloc of an empty summary does not return NULL. */
static int findings_allocate(struct spex_findings *findings, const struct spex_summary *summary) {
    size_t count = summary->count + 1;
    *findings = (struct spex_findings){
        .competes = calloc(count, sizeof(bool)),
        .standings = calloc(count, sizeof(struct spex_ranking)),
        .places = calloc(count, sizeof(enum spex_pareto_place)),
        .tied = calloc(count, sizeof(size_t)),
        .front = calloc(count, sizeof(size_t)),
        .accuracies = calloc(summary->space->criterion_count, sizeof(struct spex_accuracy)),
    };
    return findings->competes && findings->standings && findings->places && findings->tied &&
                   findings->front && findings->accuracies
               ? 0
               : -ENOMEM;
}

/* The front needs the accuracies, the lists need the ranking. The effects come last and cost most:
 * they fit a model of the space many times. */
int spex_findings_init(struct spex_findings *findings, const struct spex_summary *summary,
                       const struct spex_trials *trials) {
    if (findings_allocate(findings, summary))
        return -ENOMEM;
    for (size_t c = 0; c < summary->space->criterion_count; c++)
        spex_accuracy_learn_criterion(&findings->accuracies[c], summary, c);
    int err = findings_rank(findings, summary);
    err = err ? err : findings_race(findings, summary, trials);
    err = err ? err : spex_drift_find(summary->space, trials, &findings->drift);
    err = err ? err : findings_find_front(findings, summary);
    if (err)
        return err;
    findings_find_worst(findings, summary);
    findings_find_measured(findings, summary);
    err = findings_look_beyond(findings, summary);
    if (err)
        return err;
    findings_find_tied(findings, summary);
    findings_add_up(findings, trials);
    err = spex_failures(trials, &findings->failures, &findings->failure_count);
    findings->convergence = spex_convergence(summary->space, trials);
    err = err ? err : findings->convergence ? 0 : -ENOMEM;
    return err ? err : spex_effects_init(&findings->effects, summary);
}

void spex_findings_free(struct spex_findings *findings) {
    free(findings->competes);
    free(findings->standings);
    free(findings->places);
    free(findings->tied);
    free(findings->front);
    free(findings->accuracies);
    free(findings->failures);
    free(findings->convergence);
    spex_untried_free(&findings->untried);
    spex_effects_free(&findings->effects);
    *findings = (struct spex_findings){.competes = NULL};
}

/* A configuration is identified by its first trial. */
size_t spex_findings_settled(const struct spex_findings *findings,
                             const struct spex_trials *trials) {
    size_t settled = trials->count;
    while (settled > 0 && !isnan(findings->convergence[settled - 1].value) &&
           findings->convergence[settled - 1].trial ==
               findings->convergence[trials->count - 1].trial)
        settled--;
    return settled;
}
