/* SPDX-License-Identifier: MIT */
/* What the commands that look at functions have in common: the process by its name, what is told of a
 * search, and functions as JSON. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_SEARCH_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_SEARCH_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "attach/attachment.h"

/* The process with this number, or the only one with this name. SPEX_EXIT_OK, or another status after a
 * message that begins with the name of the command. */
int spex_called_process(const char *command, const char *text, pid_t *process);

/* For each choice the name that is most like it. */
struct spex_wanted_search {
    const struct spex_function_choices *choices;
    char **nearest;
    size_t *distances;
};

/* Tells of files that cannot be read on standard error. */
struct spex_function_search spex_wanted_search_of(struct spex_wanted_search *wanted,
                                                  const struct spex_function_choices *choices);
void spex_wanted_search_free(struct spex_wanted_search *wanted);

/* Tells which choices name no function. Whether none does, or may: of a program that `begins`, libraries are loaded later. */
bool spex_wanted_search_complain(const struct spex_wanted_search *wanted,
                                 const struct spex_process_functions *functions, bool begins);

/* The kind of site that counts it. */
const char *spex_function_site(const struct spex_process_function *function);

/* An array; NULL: out of memory. */
json_t *spex_functions_json(const struct spex_process_functions *functions,
                            const struct spex_hit_costs *costs);

#endif
