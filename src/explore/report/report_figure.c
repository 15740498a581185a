/* SPDX-License-Identifier: MIT */
/* The value of a criterion as reports print it, with its margin. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "explore/report/report_parts.h"
#include "measure/criterion.h"
#include "text/quantity.h"

struct spex_figure_texts spex_report_figure(const struct spex_study *study, size_t group,
                                            size_t criterion) {
    const struct spex_findings *findings = &study->findings;
    const struct spex_ranking *standing = &findings->standings[group];
    const char *unit = spex_criterion_unit(&study->file->space.criteria[criterion]);
    struct spex_figure_texts texts = {.value = ""};
    double value = standing->estimate, margin = standing->margin;
    double low = standing->low, high = standing->high;
    if (criterion > 0) {
        value = study->summary.groups[group].criteria[criterion].mean;
        spex_group_interval(&findings->accuracies[criterion], &study->summary, group, criterion,
                            &low, &high);
        margin = (high - low) / 2;
    }
    spex_quantity_text(value, margin, unit, texts.value, sizeof(texts.value));
    bool exact = findings->accuracies[criterion].exact;
    if (exact)
        snprintf(texts.interval, sizeof(texts.interval), "exact");
    else if (isfinite(low) && isfinite(high))
        spex_range_text(low, high, unit, texts.interval, sizeof(texts.interval));
    else
        snprintf(texts.interval, sizeof(texts.interval), "not known");
    snprintf(texts.certainty, sizeof(texts.certainty), "%s%s",
             exact ? "" : "95 %: ", texts.interval);
    return texts;
}

const char *spex_report_measured(const struct spex_study *study, const struct spex_group *group,
                                 size_t criterion, char *text, size_t size) {
    const struct spex_accuracy *accuracy = &study->findings.accuracies[criterion];
    double margin = accuracy->exact ? 0 : spex_group_margin(accuracy, group, criterion);
    return spex_quantity_text(group->criteria[criterion].mean, margin,
                              spex_criterion_unit(&study->file->space.criteria[criterion]), text,
                              size);
}

const char *spex_report_race(const struct spex_study *study, char *text, size_t size) {
    const struct spex_findings *findings = &study->findings;
    size_t finished = study->trials.count - findings->failed;
    return spex_final_race_text(&findings->race,
                                finished ? findings->seconds / (double)finished : 0, text, size);
}

/* By estimate; those that exceed a limit come last, by what was measured. */
static int compare_configurations(const void *a, const void *b, void *user) {
    const struct spex_study *study = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    const struct spex_group *groups = study->summary.groups;
    if (study->findings.competes[one] || study->findings.competes[other])
        return spex_findings_order(&study->findings, &study->file->space, one, other);
    if (spex_group_better(&study->file->space, &groups[one], &groups[other]))
        return -1;
    return spex_group_better(&study->file->space, &groups[other], &groups[one]) ? 1 : 0;
}

size_t *spex_report_order(const struct spex_study *study, size_t *count) {
    size_t *order = malloc((study->summary.count + 1) * sizeof(*order));
    *count = 0;
    if (!order)
        return NULL;
    for (size_t g = 0; g < study->summary.count; g++)
        if (study->summary.groups[g].trials)
            order[(*count)++] = g;
    qsort_r(order, *count, sizeof(*order), compare_configurations, (void *)(uintptr_t)study);
    return order;
}

const char *spex_report_drift_means(const struct spex_study *study) {
    return study->findings.race.trials
               ? "figures of trials at different times do not compare; finals do, since a block is "
                 "of one time"
               : "figures of trials at different times do not compare";
}

const char *spex_report_drift(const struct spex_study *study, char *text, size_t size) {
    char drift[256];
    snprintf(text, size, "%s: %s",
             spex_drift_text(&study->findings.drift, &study->file->space, drift, sizeof(drift)),
             spex_report_drift_means(study));
    return text;
}
