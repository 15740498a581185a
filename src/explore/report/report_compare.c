/* SPDX-License-Identifier: MIT */
/* Prints the comparison of two stores, as text and JSON. compare.h has calculated it. */
#include "explore/report/report_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/findings/compare.h"
#include "explore/report/change_text.h"
#include "explore/report/json_parts.h"
#include "explore/report/report_parts.h"
#include "measure/criterion.h"
#include "profile/columns.h"
#include "text/printable.h"

/* Most configurations that are printed one by one; JSON has all. */
#define PAIRS_MAX 10

/* Two studies and their comparison. */
struct both {
    const struct spex_study *a, *b;
    const struct spex_comparison *comparison;
};

static void print_program(const char *title, const struct spex_study *study, FILE *out) {
    char *program = strdup(spex_store_program(study->store));
    if (program)
        spex_make_printable(program);
    fprintf(out, "%s %s\n", title, program ? program : "?");
    free(program);
}

/* Prints in what the stores differ: space, program and circumstances. */
static void print_comparable(const struct both *both, FILE *out) {
    const struct spex_comparison *comparison = both->comparison;
    size_t on = comparison->machine_differs;
    if (comparison->difference)
        fprintf(out, "space      differs: %s\n", comparison->difference);
    else
        fputs("space      the same\n", out);
    if (comparison->same_program) {
        fputs("program    the same\n", out);
    } else {
        print_program("program    A", both->a, out);
        print_program("           B", both->b, out);
    }
    if (on == SPEX_ON_COUNT)
        fputs("machine    the same, and kernel, build and spex\n", out);
    else
        fprintf(out, "machine    another %s: A %s\n           %*s B %s\n",
                spex_circumstance_names[on], both->a->machines[0].texts[on],
                (int)strlen(spex_circumstance_names[on]) + 9, "", both->b->machines[0].texts[on]);
    if (spex_circumstances_mixed(both->a->machines, both->a->machine_count) ||
        spex_circumstances_mixed(both->b->machines, both->b->machine_count))
        fputs("           and one of the stores is mixed: its trials ran on different ones\n", out);
    fprintf(out,
            "trials     A %zu over %zu configurations, B %zu over %zu; %zu have a result in both\n",
            both->a->trials.count, both->a->summary.count, both->b->trials.count,
            both->b->summary.count, comparison->pair_count);
    if (!comparison->same_criteria)
        fputs("not comparable: objectives, limits or parameters differ\n", out);
}

/* One line: the best configuration of a store and its mean. */
static void print_best(const struct spex_study *study, const char *title, FILE *out) {
    char text[512], measured[48];
    size_t best = study->findings.best;
    if (best == SPEX_RANKING_NONE) {
        fprintf(out, "%-10s no trial has a result\n", title);
        return;
    }
    const struct spex_group *group = &study->summary.groups[best];
    struct spex_figure_texts estimate = spex_report_figure(study, best, 0);
    spex_levels_text(&study->file->space, group->levels, text, sizeof(text));
    fprintf(out, "%-10s %s (%s)  measured %s  %s\n", title, estimate.value, estimate.certainty,
            spex_report_measured(study, group, 0, measured, sizeof(measured)), text);
}

/* Prints the best configurations of both, and the change from one to the other. */
static void print_bests(const struct both *both, FILE *out) {
    const struct spex_comparison *comparison = both->comparison;
    char change[96], value[48];
    size_t there = comparison->best_of_a_in_b;
    print_best(both->a, "best of A", out);
    print_best(both->b, "best of B", out);
    if (!comparison->same_criteria || both->a->findings.best == SPEX_RANKING_NONE ||
        both->b->findings.best == SPEX_RANKING_NONE)
        return;
    spex_change_text(&comparison->best_to_best, spex_criterion_unit(both->a->file->space.criteria),
                     change, sizeof(change));
    fprintf(out, "           from the one to the other, as measured, %s%s\n", change,
            comparison->best_to_best.significant ? "" : ": no sure change");
    if (there == SPEX_RANKING_NONE)
        fputs("           A's best has no result in B\n", out);
    else if (there == both->b->findings.best)
        fputs("           they are the same configuration\n", out);
    else {
        spex_report_measured(both->b, &both->b->summary.groups[there], 0, value, sizeof(value));
        fprintf(out, "           A's best measured %s in B%s\n", value,
                both->b->findings.standings[there].tied ? ", as good as B's best" : "");
    }
}

/* Prints the mean change of all configurations in each criterion. */
static void print_drift(const struct both *both, FILE *out) {
    const struct spex_space *space = &both->a->file->space;
    const struct spex_comparison *comparison = both->comparison;
    char change[96], label[256];
    fputs("\ndrift: from A to B over all configurations that are in both, each against itself\n",
          out);
    for (size_t c = 0; c < space->criterion_count; c++) {
        spex_criterion_name(&space->criteria[c], label, sizeof(label));
        spex_change_text(&comparison->all[c], spex_criterion_unit(&space->criteria[c]), change,
                         sizeof(change));
        fprintf(out, "  %-40s %s%s\n", label, change,
                !comparison->all[c].known        ? ": one pair says nothing of how sure it is"
                : comparison->all[c].significant ? ""
                                                 : ": no sure change");
    }
    if (!isnan(comparison->order))
        fprintf(out, "  rank correlation of the configurations, A with B: %.3f\n",
                comparison->order);
}

/* Prints the configurations whose change differs from the mean change. */
static void print_pairs(const struct both *both, FILE *out) {
    const struct spex_space *space = &both->a->file->space;
    const struct spex_comparison *comparison = both->comparison;
    static const char *const headings[] = {"A", "B", "change (95 %)", "configuration"};
    char text[512];
    struct spex_columns columns;
    if (!comparison->apart_count) {
        fputs("  no configuration changed surely otherwise than all together\n", out);
        return;
    }
    fprintf(out, "\n%zu configurations changed surely otherwise than all together\n",
            comparison->apart_count);
    spex_columns_init(&columns, headings, 4, 1u << 2 | 1u << 3);
    for (size_t i = 0; i < comparison->apart_count && i < PAIRS_MAX; i++) {
        const struct spex_pair *pair = &comparison->pairs[i];
        const struct spex_group *a = &both->a->summary.groups[pair->a];
        const struct spex_group *b = &both->b->summary.groups[pair->b];
        spex_columns_add(&columns, "%s", spex_report_measured(both->a, a, 0, text, sizeof(text)));
        spex_columns_add(&columns, "%s", spex_report_measured(both->b, b, 0, text, sizeof(text)));
        spex_change_text(&pair->change, spex_criterion_unit(space->criteria), text, sizeof(text));
        spex_columns_add(&columns, "%s", text);
        spex_levels_text(space, a->levels, text, sizeof(text));
        spex_columns_add(&columns, "%s", text);
    }
    columns.folded = true;
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
    if (comparison->apart_count > PAIRS_MAX)
        fprintf(out, "  and %zu more\n", comparison->apart_count - PAIRS_MAX);
}

static void print_text(const struct both *both, FILE *out) {
    print_comparable(both, out);
    print_bests(both, out);
    if (!both->comparison->pair_count)
        return;
    print_drift(both, out);
    print_pairs(both, out);
}

static json_t *pair_json(const struct both *both, const struct spex_pair *pair) {
    const struct spex_group *a = &both->a->summary.groups[pair->a];
    const struct spex_group *b = &both->b->summary.groups[pair->b];
    return json_pack("{s:o, s:f, s:f, s:o, s:b}", "config",
                     spex_json_config(&both->a->file->space, a->levels), "a", a->criteria[0].mean,
                     "b", b->criteria[0].mean, "change", spex_change_json(&pair->change), "apart",
                     (int)pair->apart);
}

/* The mean change of each criterion; empty without pairs. */
static json_t *all_json(const struct both *both) {
    json_t *list = json_array();
    for (size_t c = 0; c < both->a->file->space.criterion_count && both->comparison->pair_count;
         c++)
        json_array_append_new(list,
                              json_pack("{s:o, s:o}", "criterion",
                                        spex_json_criterion(&both->a->file->space.criteria[c]),
                                        "change", spex_change_json(&both->comparison->all[c])));
    return list;
}

static json_t *best_json(const struct spex_study *study) {
    size_t best = study->findings.best;
    if (best == SPEX_RANKING_NONE)
        return json_null();
    const struct spex_group *group = &study->summary.groups[best];
    return json_pack("{s:o, s:f}", "config", spex_json_config(&study->file->space, group->levels),
                     "objective", group->criteria[0].mean);
}

/* NULL: out of memory. */
static json_t *comparison_json(const struct both *both) {
    const struct spex_comparison *comparison = both->comparison;
    bool bests = comparison->same_criteria && both->a->findings.best != SPEX_RANKING_NONE &&
                 both->b->findings.best != SPEX_RANKING_NONE;
    bool machine = comparison->machine_differs == SPEX_ON_COUNT;
    json_t *pairs = json_array();
    for (size_t i = 0; i < comparison->pair_count; i++)
        json_array_append_new(pairs, pair_json(both, &comparison->pairs[i]));
    return json_pack("{s:b, s:o, s:b, s:b, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "same_space", (int)!comparison->difference, "space_difference",
                     comparison->difference ? spex_json_text(comparison->difference) : json_null(),
                     "same_program", (int)comparison->same_program, "same_machine", (int)machine,
                     "machines", "a", spex_json_machines(both->a->machines, both->a->machine_count),
                     "b", spex_json_machines(both->b->machines, both->b->machine_count), "best_a",
                     best_json(both->a), "best_b", best_json(both->b), "best_change",
                     bests ? spex_change_json(&comparison->best_to_best) : json_null(), "drift",
                     all_json(both), "rank_correlation", spex_json_number(comparison->order),
                     "pairs", pairs);
}

int spex_report_compare(const struct spex_study *a, const struct spex_study *b, FILE *text,
                        FILE *json, struct spex_error *error) {
    struct spex_comparison comparison;
    const struct both both = {a, b, &comparison};
    int err = spex_compare(&comparison, a, b);
    if (err)
        err = spex_fail(error, err, "out of memory");
    if (!err && text) {
        print_text(&both, text);
        if (fflush(text) != 0 || ferror(text))
            err = spex_fail(error, -EIO, "cannot write the report: %s", strerror(errno));
    }
    if (!err && json)
        err = spex_json_write(comparison_json(&both), json, error);
    spex_comparison_free(&comparison);
    return err;
}
