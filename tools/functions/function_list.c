/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/functions/function_list.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/calibrate.h"
#include "attach/process_functions.h"
#include "profile/columns.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/functions/function_search.h"

struct listing {
    struct spex_program program;
    struct spex_function_choices choices;
    struct spex_process_functions functions;
    struct spex_wanted_search wanted;
    struct spex_hit_costs costs;
};

/* "push", and how far behind the function's first byte: "branch +7"; or how many sites a probe has. */
static void add_instruction(struct spex_columns *columns,
                            const struct spex_process_function *function) {
    const struct spex_place *entry = spex_process_function_entry(function);
    unsigned long long into = entry->address - function->address;
    if (function->site_count > 1)
        spex_columns_add(columns, "%u × %s", function->site_count, spex_hit_name(entry->hit));
    else if (into && !function->moved)
        spex_columns_add(columns, "%s +%llu", spex_hit_name(entry->hit), into);
    else
        spex_columns_add(columns, "%s", spex_hit_name(entry->hit));
}

static void add_row(struct spex_columns *columns, const struct spex_process_function *function,
                    const struct spex_hit_costs *costs) {
    bool refused = *function->refused != '\0';
    double cost = refused ? NAN : spex_function_cost_ns(function, costs) / 1e9;
    char text[32];
    spex_columns_add(columns, "%s", function->name);
    spex_columns_add(columns, "%s", function->object);
    spex_columns_add(columns, "%s", refused ? "-" : spex_function_site(function));
    if (refused)
        spex_columns_add(columns, "-");
    else
        add_instruction(columns, function);
    spex_columns_add(columns, "%s",
                     refused ? "-" : spex_quantity_digits(cost, 2, false, "s", text, sizeof(text)));
    const char *why = spex_process_function_has_way(function) ? "" : function->placement.why;
    spex_columns_add(columns, "%s", refused ? function->refused : why);
}

static int print_table(const struct listing *listing, bool all) {
    static const char *const headings[] = {"function", "object", "site", "at", "a hit", "why"};
    static const uint8_t order[] = {2, 1, 5, 3};
    enum { COST = 4, COLUMNS = 6 };
    struct spex_columns columns;
    spex_columns_init(&columns, headings, COLUMNS, ((1u << COLUMNS) - 1) & ~(1u << COST));
    for (size_t f = 0; f < listing->functions.count; f++)
        add_row(&columns, &listing->functions.items[f], &listing->costs);
    columns.folded = true;
    spex_columns_print_within(&columns, stdout,
                              &(struct spex_columns_room){
                                  .all = all, .texts = 3, .order = order, .count = sizeof(order)});
    for (size_t f = 0; f < listing->functions.count; f++)
        if (*listing->functions.items[f].rung)
            printf("%s: %s\n", listing->functions.items[f].name, listing->functions.items[f].rung);
    return spex_help_written();
}

static int print_json(const struct listing *listing) {
    int err = spex_json_print(spex_functions_json(&listing->functions, &listing->costs), stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "out of memory") : spex_help_written();
}

/* A glob of names alone is one of all objects. */
static int choose(struct listing *listing, const char *glob) {
    struct spex_error error;
    char *text = NULL;
    bool prefixed = strncmp(glob, "func:", 5) == 0 || strncmp(glob, "usdt:", 5) == 0;
    if (asprintf(&text, "%s%s", prefixed ? "" : "func:", glob) < 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    int err = spex_function_choices_add(&listing->choices, text, &error);
    free(text);
    return err ? spex_complain(SPEX_EXIT_USAGE, "probes: %s", error.text) : SPEX_EXIT_OK;
}

/* Costs are measured by probes of this process, which its user may not have the right to. */
static int collect(struct listing *listing, pid_t process) {
    struct spex_error error;
    const struct spex_function_search search =
        spex_wanted_search_of(&listing->wanted, &listing->choices);
    if (spex_program_open(process, &listing->program, &error) != 0 ||
        (spex_hit_costs_measure(&spex_all_kinds, &listing->costs, &error) != 0 &&
         !spex_function_choices_need_no_breakpoints(&listing->choices)) ||
        spex_process_functions_find(&listing->functions, &listing->choices, &listing->program,
                                    &search, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "probes: %s", error.text);
    if (spex_wanted_search_complain(&listing->wanted, &listing->functions, false))
        return SPEX_EXIT_FAILED;
    if (listing->functions.left_out)
        spex_complain(0, "%zu more functions are left out: %d at most are listed",
                      listing->functions.left_out, SPEX_FUNCTIONS_MAX);
    return SPEX_EXIT_OK;
}

int spex_function_list(const char *named, const char *glob, bool json, bool all) {
    struct listing listing = {.program = {.pidfd = -1, .memory = -1}};
    pid_t process;
    int status = spex_called_process("probes", named, &process);
    status = status ? status : choose(&listing, glob);
    status = status ? status : collect(&listing, process);
    if (!status)
        status = json ? print_json(&listing) : print_table(&listing, all);
    spex_process_functions_free(&listing.functions);
    spex_wanted_search_free(&listing.wanted);
    spex_function_choices_free(&listing.choices);
    spex_program_close(&listing.program);
    return status;
}
