/* SPDX-License-Identifier: MIT */
/* The instrumented functions of what is loaded, by the symbol tables of its files. */
#ifndef SPEX_FUNCTIONS_FUNCTION_SEARCH_H
#define SPEX_FUNCTIONS_FUNCTION_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

#include "functions/function_names.h"

struct spex_found_function {
    uintptr_t address;
    const char *file; /* of the object, the same pointer for all of one */
    char name[SPEX_NAME_BYTES];
};

struct spex_found_functions {
    struct spex_found_function *items; /* object by object, by name */
    size_t count;
    size_t matched;   /* with those for which there was no room */
    size_t functions; /* instrumented ones, whether they match or not */
    size_t objects;   /* that have, or may have, instrumented functions */
    char **files;     /* what the items' refer to */
    size_t file_count;
};

/* Finds the first `most` functions that the filter chooses. `enter_hook`: the address of
 * __cyg_profile_func_enter. In the object with the hooks only instrumented functions are found; in
 * other objects it is not known which functions are, so all are. To be freed in any case. 0 or
 * -ENOMEM. */
int spex_functions_find(const char *filter, uintptr_t enter_hook, size_t most,
                        struct spex_found_functions *found);
void spex_functions_found_free(struct spex_found_functions *found);

#endif
