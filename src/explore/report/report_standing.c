/* SPDX-License-Identifier: MIT */
/* What the text report says of the best: how certain it is among those that were tried, and what is
 * known of the others. */
#include <inttypes.h>
#include <math.h>

#include "explore/report/report_parts.h"
#include "measure/criterion.h"
#include "profile/columns.h"
#include "text/quantity.h"

/* Most lines of tied configurations. */
#define TIED_MAX 10

/* Prints a line such as "best       812/s (95 %: 790 to 834/s)  measured 815.3/s in 3 trials
 * threads=4": what is ranked by, then what was measured. */
static void print_group(const struct spex_study *study, const char *title, size_t g, FILE *out) {
    const struct spex_group *group = &study->summary.groups[g];
    struct spex_figure_texts estimate = spex_report_figure(study, g, 0);
    char text[512], measured[48];
    spex_levels_text(&study->file->space, group->levels, text, sizeof(text));
    fprintf(out, "%-10s %s (%s)  measured %s in %" PRIu64 " trial%s  %s\n", title, estimate.value,
            estimate.certainty, spex_report_measured(study, group, 0, measured, sizeof(measured)),
            group->trials, group->trials == 1 ? "" : "s", text);
}

/* Prints the best configuration's figures for all criteria but the first objective. */
static void print_other_criteria(const struct spex_study *study, size_t g, FILE *out) {
    const struct spex_space *space = &study->file->space;
    char text[512];
    for (size_t c = 1; c < space->criterion_count; c++) {
        struct spex_figure_texts figure = spex_report_figure(study, g, c);
        spex_criterion_text(&space->criteria[c], text, sizeof(text));
        fprintf(out, "           %s (%s)  %s\n", figure.value, figure.certainty, text);
    }
    if (!study->findings.limits_kept && space->criterion_count > space->objective_count)
        fputs("           no configuration keeps the limits: all are compared as if there were "
              "none\n",
              out);
}

static void add_tied(const struct spex_study *study, size_t g, struct spex_columns *columns) {
    const struct spex_group *group = &study->summary.groups[g];
    struct spex_figure_texts estimate = spex_report_figure(study, g, 0);
    char text[512], measured[48];
    spex_levels_text(&study->file->space, group->levels, text, sizeof(text));
    spex_columns_add(columns, "%s", estimate.value);
    spex_columns_add(columns, "%s", estimate.interval);
    spex_columns_add(columns, "%s",
                     spex_report_measured(study, group, 0, measured, sizeof(measured)));
    spex_columns_add(columns, "%" PRIu64, group->trials);
    spex_columns_add(columns, "%s", text);
}

/* Prints the configurations that the trials cannot tell from the best. */
static void print_tied(const struct spex_study *study, FILE *out) {
    static const char *const headings[] = {"estimate", "95 %", "measured", "trials",
                                           "configuration"};
    const struct spex_findings *findings = &study->findings;
    struct spex_columns columns;
    size_t tried = study->summary.count;
    if (findings->tied_count < 2) {
        fprintf(out, "tied       none: of the %zu tried no other is as good%s\n", tried,
                findings->accuracies[0].exact ? "" : ", with a probability of 95 %");
        return;
    }
    fprintf(out, "tied       %zu of the %zu tried, %s:\n", findings->tied_count, tried,
            findings->accuracies[0].exact
                ? "which are equal"
                : "of which one is the best of these with a probability of 95 %, by estimate");
    spex_columns_init(&columns, headings, 5, 1u << 4);
    for (size_t i = 0; i < findings->tied_count && i < TIED_MAX; i++)
        add_tied(study, findings->tied[i], &columns);
    columns.folded = true;
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
    if (findings->tied_count > TIED_MAX)
        fprintf(out, "and %zu more\n", findings->tied_count - TIED_MAX);
}

/* What a model of those tried expects of the others. */
static void print_expected(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_untried *untried = &study->findings.untried;
    const char *unit = spex_criterion_unit(space->criteria);
    char text[512], value[48], range[96], chance[32];
    if (!untried->levels)
        return;
    spex_levels_text(space, untried->levels, text, sizeof(text));
    fprintf(out,
            "           a model of those tried expects most of %s:\n           %s (95 %%: %s), "
            "better than the best with a probability of %s\n",
            text,
            spex_quantity_text(untried->expected, (untried->high - untried->low) / 2, unit, value,
                               sizeof(value)),
            spex_range_text(untried->low, untried->high, unit, range, sizeof(range)),
            spex_percent_text(untried->chance, 2, chance, sizeof(chance)));
}

/* What is said of those tried is not said of the others. */
static void print_untried(const struct spex_study *study, FILE *out) {
    uint64_t all = study->findings.configurations, tried = study->summary.count;
    char share[32];
    if (all > tried)
        fprintf(out,
                "untried    %" PRIu64 " of %" PRIu64 " configurations, %s: one of these may be "
                "better\n",
                all - tried, all,
                spex_percent_text((double)(all - tried) / (double)all, 2, share, sizeof(share)));
}

/* Why the best as measured is not recommended. */
static void print_measured(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    const struct spex_group *best = &study->summary.groups[findings->best];
    const struct spex_group *measured = &study->summary.groups[findings->measured];
    char of_measured[64];
    if (findings->measured == findings->best)
        return;
    print_group(study, "measured", findings->measured, out);
    snprintf(of_measured, sizeof(of_measured), "%" PRIu64 " trial%s", measured->trials,
             measured->trials == 1 ? "" : "s");
    if (measured->trials < best->trials)
        fprintf(out,
                "           is the best as measured, and not recommended, because %s may be luck "
                "where the best\n           had %" PRIu64 "\n",
                of_measured, best->trials);
    else
        fprintf(out,
                "           is the best as measured, and not recommended, because %s that differ "
                "so much from\n           others, or from each other, may be luck\n",
                of_measured);
}

/* A mean says little of a configuration whose trials differ widely. */
static void print_unstable(const struct spex_study *study, FILE *out) {
    const struct spex_summary *summary = &study->summary;
    const struct spex_group *best = &summary->groups[study->findings.best];
    size_t unstable = 0;
    char share[32];
    for (size_t g = 0; g < summary->count; g++)
        unstable += spex_findings_spread(&summary->groups[g]) > SPEX_UNSTABLE_SHARE;
    if (unstable)
        fprintf(out,
                "unstable   %zu of the %zu tried: their trials differ by more than 30 %% of the "
                "mean\n",
                unstable, summary->count);
    double spread = spex_findings_spread(best);
    if (spread > SPEX_UNSTABLE_SHARE)
        fprintf(out, "           the best is one of them: its %" PRIu64 " trials differ by %s\n",
                best->trials, spex_percent_text(spread, 2, share, sizeof(share)));
}

static void add_finalist(const struct spex_study *study, const struct spex_finalist *finalist,
                         struct spex_columns *columns) {
    const struct spex_group *group = &study->summary.groups[finalist->group];
    const char *unit = spex_criterion_unit(study->file->space.criteria);
    char text[512], state[48] = "left", mean[48];
    if (finalist->out)
        snprintf(state, sizeof(state), "worse, after %" PRIu64, finalist->out_after);
    spex_levels_text(&study->file->space, group->levels, text, sizeof(text));
    spex_columns_add(
        columns, "%s",
        spex_quantity_text(finalist->trials ? finalist->mean : NAN, NAN, unit, mean, sizeof(mean)));
    spex_columns_add(columns, "%" PRIu64, finalist->trials);
    spex_columns_add(columns, "%s", state);
    spex_columns_add(columns, "%s",
                     spex_findings_spread(group) > SPEX_UNSTABLE_SHARE ? "unstable" : "");
    spex_columns_add(columns, "%s", text);
}

/* How sure the race has made the best, and who was in it. */
static void print_race(const struct spex_study *study, FILE *out) {
    static const char *const headings[] = {"measured", "blocks", "finalist", "", "configuration"};
    const struct spex_final_race *race = &study->findings.race;
    char text[SPEX_RACE_TEXT_BYTES];
    struct spex_columns columns;
    if (!race->trials)
        return;
    fprintf(out, "finals     %s\n", spex_report_race(study, text, sizeof(text)));
    spex_columns_init(&columns, headings, 5, 1u << 2 | 1u << 3 | 1u << 4);
    for (size_t f = 0; f < race->count; f++)
        if (!race->finalists[f].out)
            add_finalist(study, &race->finalists[f], &columns);
    for (size_t f = 0; f < race->count; f++)
        if (race->finalists[f].out)
            add_finalist(study, &race->finalists[f], &columns);
    columns.folded = true;
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
}

/* There is a best one. */
void spex_report_standing(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    print_group(study, "best", findings->best, out);
    print_other_criteria(study, findings->best, out);
    print_measured(study, out);
    print_group(study, "worst", findings->worst, out);
    print_race(study, out);
    print_tied(study, out);
    print_unstable(study, out);
    print_untried(study, out);
    print_expected(study, out);
}
