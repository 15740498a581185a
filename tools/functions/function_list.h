/* SPDX-License-Identifier: MIT */
/* Lists the functions of a process with where a probe of each would be, and what a hit would cost. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_LIST_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_LIST_H

#include <stdbool.h>

/* `named`: a process by its number or name; `glob`: of names of functions, or as `spex attach` takes them. `all`:
 * a table however wide it is. An exit status. */
int spex_function_list(const char *named, const char *glob, bool json, bool all);

#endif
