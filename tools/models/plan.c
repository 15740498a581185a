/* SPDX-License-Identifier: MIT */
/* `spex plan`: reads classes of events from a table, and prints the best combinations of traced
 * classes within a budget, or what one rate policy decides. The combinations come from the
 * hybrid policy, which can list several. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policies/rate/hybrid_search.h"
#include "policies/rate/rates.h"
#include "profile/columns.h"
#include "rate/budget.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/models/plan_policy.h"
#include "tools/models/plan_table.h"

static const char plan_usage[] =
    "usage: spex plan TABLE.csv [--max-f N | --budget P]\n"
    "                 [--top COUNT | --policy POLICY] [--json]\n"
    "\n"
    "Which classes of events to trace and which to leave to sampling, so that the\n"
    "records are worth most within the budget: the best combinations, with their\n"
    "information. \"-\" is standard input. The table's first line names its columns, in\n"
    "any order: name, share (of the time), frequency (Hz), weight; and if wanted\n"
    "report_cost and detect_cost (seconds), min_frequency (Hz), pinned (yes, no).\n"
    "\n"
    "  --max-f N        the budget pays for N records and samples a second, all alike\n"
    "  --budget P       for so much of the time, such as 5% (the default), by\n"
    "                   report_cost\n"
    "  --sample-cost S  seconds a sample; else the greatest report_cost\n"
    "  --top COUNT      how many combinations; else 5\n"
    "  --policy POLICY  instead, what this policy decides about each class: fair,\n"
    "                   budget, fixed or hybrid, or an object's path, with a \"/\"; it\n"
    "                   decides on polling only with --max-f or --sample-cost\n"
    "  --json           the same as JSON: an array, or for one policy an object\n";

static const struct spex_syntax plan_syntax = {"plan", plan_usage, "one table was expected",
                                               1,      1,          SPEX_OPTIONS_ANYWHERE};

/* Combinations that are shown. */
enum { TOP_DEFAULT = 5 };

/* The range of numbers on the command line: above 0, and accepted by spex_rate_is_number. */
#define NUMBER_LEAST 1e-50
#define NUMBER_MOST  1e50

struct request {
    const char *path;
    double max_f, budget, sample_cost;
    /* 0: the default. */
    unsigned long top;
    /* NULL: the best combinations are wanted. */
    const char *policy;
    bool json;
};

/* Accepts "5%", as spex_budget_parse does, and a share such as "0.05". */
static bool option_read_budget(const char *text, double *share) {
    char *end = NULL;
    if (spex_budget_parse(text, share))
        return true;
    if (text[strspn(text, "0123456789.eE-")] != '\0')
        return false;
    *share = strtod(text, &end);
    return *end == '\0' && *share >= NUMBER_LEAST && *share <= 1;
}

/* --top and --policy exclude each other. An exit status. */
static int plan_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {"max-f", .number = &request->max_f, .range = {NUMBER_LEAST, NUMBER_MOST},
         .error = "a number above 0 was expected"},
        {"budget", .number = &request->budget, .read = option_read_budget,
         .error = "a part of the time such as 5% or 0.05 was expected"},
        {"sample-cost", .number = &request->sample_cost, .range = {NUMBER_LEAST, NUMBER_MOST},
         .error = "a number above 0 was expected"},
        {"top", .count = &request->top, .range = {1, 10000}, .error = "1 to 10000 was expected"},
        {"policy", .text = &request->policy},
        {"json", .flag = &request->json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&plan_syntax, known, argc, argv, &operands);
    if (!status && request->policy && request->top)
        status = spex_complain(SPEX_EXIT_USAGE,
                               "plan: --top: no --policy was expected, which decides one way");
    request->path = status ? NULL : operands.list[0];
    return status;
}

/* The default cost of a sample: that of the most expensive record. */
static double greatest_report_cost(const struct spex_plan_table *table) {
    double greatest = 0;
    for (size_t c = 0; c < table->class_count; c++)
        if (table->classes[c].report_cost > greatest)
            greatest = table->classes[c].report_cost;
    return greatest;
}

/* A policy gets 0 by default, which means that it cannot probe, as in a program. */
static double problem_sample_cost(const struct request *request,
                                  const struct spex_plan_table *table) {
    return request->sample_cost > 0 || request->policy ? request->sample_cost
                                                       : greatest_report_cost(table);
}

/* With --max-f the budget is a number of records and samples a second, which all cost the same;
 * otherwise each class needs its cost. An exit status. */
static int problem_make(const struct request *request, const struct spex_plan_table *table,
                        struct spex_rate_problem *problem) {
    *problem = (struct spex_rate_problem){
        .size = sizeof(*problem),
        .budget = request->budget,
        .max_frequency = request->max_f,
        .sample_cost = problem_sample_cost(request, table),
        .class_count = table->class_count,
        .classes = table->classes,
    };
    if (request->max_f > 0) {
        if (table->has_report_cost || table->has_detect_cost || request->sample_cost > 0)
            spex_complain(0, "with --max-f all records and samples cost the same: the costs given "
                             "are not used");
        return 0;
    }
    if (!table->has_report_cost)
        return spex_complain(SPEX_EXIT_USAGE,
                             "plan: --max-f was expected, or a column report_cost in %s",
                             table->csv.name);
    if (problem->sample_cost <= 0 && !request->policy)
        return spex_complain(SPEX_EXIT_USAGE,
                             "plan: --sample-cost was expected, since no record costs anything");
    return 0;
}

/* One combination. "traced" names the classes that are traced; the others are polled. */
static json_t *combination_json(const struct spex_rate_problem *problem,
                                const struct spex_rate_combination *combination) {
    json_t *traced = json_array();
    for (size_t c = 0; c < problem->class_count; c++)
        if (combination->traced[c])
            json_array_append_new(traced, json_string(problem->classes[c].name));
    return json_pack("{s:f, s:f, s:f, s:o}", "information", combination->information, "overhead",
                     combination->overhead, "probing_frequency", combination->probing_frequency,
                     "traced", traced);
}

/* An array that is too short means that memory was short. An exit status. */
static int print_combinations_json(const struct spex_rate_problem *problem,
                                   const struct spex_rate_combination *best, size_t count) {
    json_t *json = json_array();
    for (size_t b = 0; b < count; b++)
        json_array_append_new(json, combination_json(problem, &best[b]));
    int err = spex_json_print(spex_json_unless(json_array_size(json) != count, json), stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "out of memory") : SPEX_EXIT_OK;
}

/* The names of the classes that are traced. */
static void add_traced(struct spex_columns *columns, const struct spex_rate_problem *problem,
                       const bool *traced) {
    const char *separator = "";
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    for (size_t c = 0; memory && c < problem->class_count; c++)
        if (traced[c]) {
            fprintf(memory, "%s%s", separator, problem->classes[c].name);
            separator = ", ";
        }
    bool made = memory && fclose(memory) == 0;
    spex_columns_add(columns, "%s", made && *text ? text : made ? "nothing" : "out of memory");
    free(text);
}

/* Prints below the table whether the budget pays for tracing everything, and whether there may
 * be better combinations: the search is exact up to SPEX_HYBRID_EXACT classes that are not
 * pinned. */
static void print_notes(const struct spex_rate_problem *problem) {
    double overhead = 0, information = 0;
    size_t free_classes = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        overhead += spex_rate_overhead(problem, c, spex_rate_most(cls));
        information += spex_rate_most(cls) * cls->weight;
        free_classes += !cls->pinned;
    }
    if (spex_rate_fits(overhead, problem->budget))
        printf("the budget pays for tracing everything: information %.2f, overhead %.2f%%\n",
               information, 100 * overhead);
    if (free_classes > SPEX_HYBRID_EXACT)
        printf("with more than %d classes these are the best that were found; there may be "
               "better ones\n",
               SPEX_HYBRID_EXACT);
}

/* A table of the combinations, and the notes below it. */
static int print_combinations(const struct spex_rate_problem *problem,
                              const struct spex_rate_combination *best, size_t count) {
    static const char *const headings[] = {"", "information", "overhead", "polling", "traced"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 5, 1u << 4);
    for (size_t b = 0; b < count; b++) {
        spex_columns_add(&columns, "%zu", b + 1);
        spex_columns_add(&columns, "%.2f", best[b].information);
        spex_columns_add(&columns, "%.2f%%", 100 * best[b].overhead);
        spex_columns_add(&columns, "%.2f Hz", best[b].probing_frequency);
        add_traced(&columns, problem, best[b].traced);
    }
    columns.folded = true;
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 0});
    print_notes(problem);
    return SPEX_EXIT_OK;
}

/* Says why there is no combination. The decision of the policy has the reason. */
static int complain_of_budget(const struct spex_rate_problem *problem,
                              const struct spex_rate_policy_ops *policy) {
    struct spex_rate_plan plan = {.size = sizeof(plan), .reason = "out of memory"};
    void *workspace = malloc(policy->workspace_size(problem->class_count));
    plan.decisions = calloc(problem->class_count + 1, sizeof(*plan.decisions));
    if (workspace && plan.decisions)
        policy->decide(problem, workspace, &plan);
    free(workspace);
    free(plan.decisions);
    return spex_complain(SPEX_EXIT_FAILED, "no combination is within the budget: %s", plan.reason);
}

/* An error of writing counts only where nothing else has failed. */
static int flush_plan(int status) {
    int err = status == SPEX_EXIT_OK ? spex_written(stdout) : 0;
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the plan cannot be written: %s", strerror(-err));
    return status;
}

/* Each combination needs its array `traced`; all of them are in one allocation. */
static int plan_problem(const struct request *request, const struct spex_rate_problem *problem) {
    const struct spex_rate_policy_ops *policy = spex_builtin_rate_policy("hybrid");
    size_t count = request->top ? request->top : TOP_DEFAULT, classes = problem->class_count;
    void *workspace = malloc(policy->combinations_workspace_size(classes, count));
    struct spex_rate_combination *best = calloc(count, sizeof(*best));
    bool *traced = calloc(count, (classes + 1) * sizeof(*traced));
    int status, found = 0;
    if (workspace && best && traced) {
        for (size_t b = 0; b < count; b++)
            best[b].traced = traced + b * (classes + 1);
        found = policy->combinations(problem, workspace, best, count);
        if (found > 0)
            status = (request->json ? print_combinations_json : print_combinations)(problem, best,
                                                                                    (size_t)found);
        else
            status = complain_of_budget(problem, policy);
    } else {
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    }
    free(traced);
    free(best);
    free(workspace);
    return status;
}

/* An exit status. */
static int plan_table(const struct request *request, const struct spex_plan_policy *policy) {
    struct spex_plan_table table;
    struct spex_rate_problem problem;
    struct spex_csv csv;
    struct spex_error error = {""};
    if (spex_csv_read(&csv, request->path, &error) != 0 ||
        spex_plan_table_make(&table, &csv, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    int status = problem_make(request, &table, &problem);
    if (status == SPEX_EXIT_OK)
        status = request->policy ? spex_plan_policy_print(policy, &problem, request->json)
                                 : plan_problem(request, &problem);
    spex_plan_table_free(&table);
    return flush_plan(status);
}

int spex_command_plan(int argc, char **argv) {
    struct request request = {.budget = 0.05};
    struct spex_plan_policy policy = {.ops = NULL};
    int status = plan_parse(argc, argv, &request);
    if (status)
        return status;
    if (request.policy)
        status = spex_plan_policy_choose(&policy, request.policy);
    if (status == SPEX_EXIT_OK)
        status = plan_table(&request, &policy);
    spex_plan_policy_free(&policy);
    return status;
}
