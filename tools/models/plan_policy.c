/* SPDX-License-Identifier: MIT */
/* Runs one rate policy on a problem. A policy may come from a shared object of the user, so
 * that its decisions are checked, and its texts made printable, before they are shown. */
#include "tools/models/plan_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policies/rate/rates.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"

enum { TEXT_BYTES = 256 };

static const char *const mode_names[] = {
    [SPEX_RATE_OFF] = "off",
    [SPEX_RATE_TRACED] = "traced",
    [SPEX_RATE_SAMPLED] = "sampled",
    [SPEX_RATE_PROBED] = "probed", /* in JSON; mode_text() has the word of the table */
};

enum { MODES = sizeof(mode_names) / sizeof(mode_names[0]) };

static int complain_of_name(const char *text) {
    char names[SPEX_RATE_POLICY_NAMES];
    spex_rate_policy_names(names, sizeof(names));
    return spex_complain(SPEX_EXIT_USAGE,
                         "plan: --policy %s: %s was expected, or the path of an object, with a "
                         "\"/\"",
                         text, names);
}

/* A name with a "/" is the path of a shared object, as in SPEX_RATE_POLICY. */
int spex_plan_policy_choose(struct spex_plan_policy *policy, const char *text) {
    struct spex_error error;
    *policy = (struct spex_plan_policy){.ops = spex_builtin_rate_policy(text)};
    if (policy->ops)
        return SPEX_EXIT_OK;
    if (!spex_shared_object_is_path(text))
        return complain_of_name(text);
    if (spex_shared_object_open(&policy->object, text, &spex_rate_object_kind, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "plan: --policy %s: %s", text, error.text);
    policy->ops = policy->object.found;
    return SPEX_EXIT_OK;
}

void spex_plan_policy_free(struct spex_plan_policy *policy) {
    spex_shared_object_close(&policy->object);
}

/* Copies a text of the policy, which may be NULL, to TEXT_BYTES, and makes it printable.
 * Returns `text`. */
static const char *copy_printable(const char *from, char *text) {
    snprintf(text, TEXT_BYTES, "%s", from ? from : "");
    spex_make_printable(text);
    return text;
}

/* A class can be recorded at most as often as it occurs, within rounding. */
static bool decision_is_valid(const struct spex_rate_problem *problem,
                              const struct spex_rate_decision *decision, size_t c) {
    bool recorded = decision->mode == SPEX_RATE_TRACED || decision->mode == SPEX_RATE_SAMPLED;
    double most = problem->classes[c].frequency * (1 + SPEX_RATE_ROUNDING);
    return (unsigned)decision->mode < MODES && decision->frequency >= 0 &&
           isfinite(decision->frequency) && (!recorded || decision->frequency <= most);
}

/* Checks that there is a valid decision about each class, and that the figures are numbers. An
 * exit status. */
static int plan_check(const char *name, const struct spex_rate_problem *problem,
                      const struct spex_rate_plan *plan) {
    for (size_t c = 0; c < problem->class_count; c++)
        if (!decision_is_valid(problem, &plan->decisions[c], c))
            return spex_complain(SPEX_EXIT_FAILED,
                                 "plan: the policy %s: for class \"%s\" a mode, and a frequency of "
                                 "0 to %g Hz, was expected",
                                 name, problem->classes[c].name, problem->classes[c].frequency);
    if (!isfinite(plan->information) || !isfinite(plan->overhead) ||
        !isfinite(plan->probing_frequency))
        return spex_complain(SPEX_EXIT_FAILED,
                             "plan: the policy %s: information, overhead and a polling frequency "
                             "were expected",
                             name);
    return SPEX_EXIT_OK;
}

/* Sets the figures to NAN first, so that plan_check finds those that the policy has not set. A
 * policy may need no workspace, for which malloc(0) could return NULL. */
static int policy_decide(const struct spex_rate_policy_ops *ops,
                         const struct spex_rate_problem *problem, struct spex_rate_plan *plan) {
    char name[TEXT_BYTES];
    size_t size = ops->workspace_size(problem->class_count);
    void *workspace = malloc(size ? size : 1);
    if (!workspace)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    for (size_t c = 0; c < problem->class_count; c++)
        plan->decisions[c].frequency = NAN;
    plan->information = plan->overhead = plan->probing_frequency = NAN;
    int err = ops->decide(problem, workspace, plan);
    free(workspace);
    copy_printable(ops->name, name);
    return err ? spex_complain(SPEX_EXIT_FAILED, "plan: the policy %s cannot decide: %s", name,
                               strerror(err < 0 ? -err : err))
               : plan_check(name, problem, plan);
}

/* What the policy decides about one class. */
static json_t *decision_json(const struct spex_rate_class *cls,
                             const struct spex_rate_decision *decision) {
    char reason[TEXT_BYTES];
    return json_pack("{s:s, s:s, s:f, s:s}", "name", cls->name, "mode", mode_names[decision->mode],
                     "frequency", decision->frequency, "reason",
                     copy_printable(decision->reason, reason));
}

/* Reasons are copied, since those of a policy may have any bytes. */
static int plan_print_json(const char *name, const struct spex_rate_problem *problem,
                           const struct spex_rate_plan *plan) {
    char reason[TEXT_BYTES];
    json_t *classes = json_array();
    for (size_t c = 0; c < problem->class_count; c++)
        json_array_append_new(classes, decision_json(&problem->classes[c], &plan->decisions[c]));
    bool complete = json_array_size(classes) == problem->class_count;
    json_t *json = json_pack("{s:s, s:b, s:f, s:f, s:f, s:s, s:o}", "policy", name, "feasible",
                             plan->feasible, "information", plan->information, "overhead",
                             plan->overhead, "probing_frequency", plan->probing_frequency, "reason",
                             copy_printable(plan->reason, reason), "classes", classes);
    return spex_json_print(spex_json_unless(!complete, json), stdout)
               ? spex_complain(SPEX_EXIT_FAILED, "the plan cannot be written")
               : SPEX_EXIT_OK;
}

/* The line below the table: the figures of the whole plan. */
static void plan_print_summary(const char *name, const struct spex_rate_plan *plan) {
    char reason[TEXT_BYTES];
    printf("%s: %s; information %.2f, overhead %.2f%%", name, copy_printable(plan->reason, reason),
           plan->information, 100 * plan->overhead);
    if (plan->probing_frequency > 0)
        printf(", polling %.2f Hz", plan->probing_frequency);
    puts(plan->feasible ? "" : ", not feasible");
}

static const char *mode_text(enum spex_rate_mode mode) {
    return mode == SPEX_RATE_PROBED ? "polled" : mode_names[mode];
}

/* The mask has the columns of text, which are aligned to the left. */
static int plan_print_table(const char *name, const struct spex_rate_problem *problem,
                            const struct spex_rate_plan *plan) {
    static const char *const headings[] = {"class", "mode", "records/s", "of", "why"};
    struct spex_columns columns;
    char reason[TEXT_BYTES];
    spex_columns_init(&columns, headings, 5, 1u << 0 | 1u << 1 | 1u << 4);
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_decision *decision = &plan->decisions[c];
        spex_columns_add(&columns, "%s", problem->classes[c].name);
        spex_columns_add(&columns, "%s", mode_text(decision->mode));
        spex_columns_add(&columns, "%.2f", decision->frequency);
        spex_columns_add(&columns, "%.2f", problem->classes[c].frequency);
        spex_columns_add(&columns, "%s", copy_printable(decision->reason, reason));
    }
    int err = columns.error;
    columns.folded = true;
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 1});
    plan_print_summary(name, plan);
    return err ? spex_complain(SPEX_EXIT_FAILED, "out of memory") : SPEX_EXIT_OK;
}

/* The decisions have one entry more, so that calloc never gets 0. */
int spex_plan_policy_print(const struct spex_plan_policy *policy,
                           const struct spex_rate_problem *problem, bool json) {
    char name[TEXT_BYTES];
    struct spex_rate_plan plan = {.size = sizeof(plan)};
    plan.decisions = calloc(problem->class_count + 1, sizeof(*plan.decisions));
    if (!plan.decisions)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    int status = policy_decide(policy->ops, problem, &plan);
    copy_printable(policy->ops->name, name);
    if (status == SPEX_EXIT_OK)
        status = (json ? plan_print_json : plan_print_table)(name, problem, &plan);
    free(plan.decisions);
    return status;
}
