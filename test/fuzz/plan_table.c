/* SPDX-License-Identifier: MIT */
/* Any text as a table of `spex plan`: refused with one line that says where, or classes that every
 * policy takes, with finite results within the budget. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "policies/rate/rates.h"
#include "text/printable.h"
#include "tools/models/plan_table.h"

enum { TOP = 3, CLASSES_DECIDED = 40 };

static void check_classes(const struct spex_plan_table *table) {
    FUZZ_CHECK(table->class_count >= 1);
    for (size_t c = 0; c < table->class_count; c++) {
        const struct spex_rate_class *cls = &table->classes[c];
        FUZZ_CHECK(*cls->name && spex_is_printable(cls->name));
        FUZZ_CHECK(cls->share <= 1 && isfinite(cls->frequency) && isfinite(cls->weight));
    }
}

static void check_plan(const struct spex_rate_problem *problem,
                       const struct spex_rate_policy_ops *policy) {
    struct spex_rate_decision *decisions = calloc(problem->class_count, sizeof(*decisions));
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = decisions};
    void *workspace = malloc(policy->workspace_size(problem->class_count));
    FUZZ_CHECK(decisions);
    int err = policy->decide(problem, workspace, &plan);
    if (err == 0) {
        FUZZ_CHECK(isfinite(plan.information) && isfinite(plan.overhead) && plan.reason);
        FUZZ_CHECK(strcmp(policy->name, "fixed") == 0 ||
                   plan.overhead <= problem->budget * (1 + 1e-9));
        for (size_t c = 0; c < problem->class_count; c++)
            FUZZ_CHECK(decisions[c].reason && isfinite(decisions[c].frequency));
    }
    free(workspace);
    free(decisions);
}

static void check_combinations(const struct spex_rate_problem *problem) {
    const struct spex_rate_policy_ops *policy = spex_builtin_rate_policy("hybrid");
    struct spex_rate_combination best[TOP];
    bool *traced = calloc(TOP, problem->class_count);
    void *workspace = malloc(policy->combinations_workspace_size(problem->class_count, TOP));
    FUZZ_CHECK(traced && workspace);
    for (size_t b = 0; b < TOP; b++)
        best[b].traced = traced + b * problem->class_count;
    int found = policy->combinations(problem, workspace, best, TOP);
    FUZZ_CHECK(found <= TOP);
    for (int b = 0; b < found; b++) {
        FUZZ_CHECK(isfinite(best[b].information) && best[b].probing_frequency >= 0);
        FUZZ_CHECK(best[b].overhead <= problem->budget * (1 + 1e-9));
    }
    free(workspace);
    free(traced);
}

static void check_policies(const struct spex_plan_table *table) {
    struct spex_rate_problem problem = {.size = sizeof(problem),
                                        .budget = .05,
                                        .max_frequency = table->has_report_cost ? 0 : 500,
                                        .sample_cost = 1e-5,
                                        .class_count = table->class_count,
                                        .classes = table->classes};
    FUZZ_CHECK(spex_rate_problem_check(&problem) == 0);
    if (problem.class_count > CLASSES_DECIDED)
        return;
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++)
        check_plan(&problem, spex_builtin_rate_policies[p]);
    if (problem.class_count <= 10)
        check_combinations(&problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_plan_table table;
    struct spex_csv csv;
    struct spex_error why = {""};
    int err = spex_csv_parse(&csv, "table", fuzz_text(data, size), size, &why);
    if (!err)
        err = spex_plan_table_make(&table, &csv, &why);
    if (err) {
        FUZZ_CHECK(err == -EINVAL && strncmp(why.text, "table:", 6) == 0);
        return 0;
    }
    check_classes(&table);
    check_policies(&table);
    spex_plan_table_free(&table);
    return 0;
}

static const char *const seeds[] = {
    "name,share,frequency,weight\nfile,.30,359,2\nwindow,.23,189,1\nkernel,.09,153,1\n"
    "font,.11,334,1\nothers,.27,630,1\n",
    "\xef\xbb\xbfname,weight,frequency,share,report_cost,detect_cost,min_frequency,pinned\r\n"
    "\"a, \"\"b\"\"\",1,2e3,0.5,1e-6,1E-8,10,yes\r\n\r\nc , 2 , 5 , 1 ,,,,no\r\nd,0,0,0,,,,\r\n",
    "pinned,name,share,frequency,weight,report_cost\nyes,a,0,1000,1,1e-4\nyes,b,0,1000,1,1e-4\n",
    "name,share,frequency,weight,min_frequency\na,.1,10,1,400\nb,.2,1000,2,0\nc,.2,1000,3,1e9",
};

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"name",
                                  "share",
                                  "frequency",
                                  "weight",
                                  "report_cost",
                                  "detect_cost",
                                  "min_frequency",
                                  "pinned",
                                  "yes",
                                  "no",
                                  ",",
                                  ",,",
                                  "\n",
                                  "\r\n",
                                  "\r",
                                  "\"",
                                  "\"\"",
                                  " ",
                                  "\t",
                                  ".",
                                  "0",
                                  "1",
                                  "1e50",
                                  "1e-50",
                                  "1e-51",
                                  "1e999",
                                  "-1",
                                  "nan",
                                  "inf",
                                  "0x1",
                                  "1e",
                                  "\xc3\xa9",
                                  "\xff",
                                  "\x1b",
                                  "\n\n",
                                  "x,.5,100,1\n",
                                  NULL};
