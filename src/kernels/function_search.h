/* SPDX-License-Identifier: MIT */
/* Finds the instrumented functions of all loaded objects in the symbol tables of their files. */
#ifndef SPEX_KERNELS_FUNCTION_SEARCH_H
#define SPEX_KERNELS_FUNCTION_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

#include "kernels/function_names.h"

struct spex_found_function {
    uintptr_t address;
    /* The object's file: the same pointer for all functions of one object. */
    const char *file;
    char name[SPEX_NAME_BYTES];
};

struct spex_found_functions {
    /* Sorted by name within each object. */
    struct spex_found_function *items;
    size_t count;
    /* Functions that the filter chooses, also beyond `most`. */
    size_t matched;
    /* Instrumented functions, whether the filter chooses them or not. */
    size_t functions;
    /* Objects that have, or may have, instrumented functions. */
    size_t objects;
    /* The texts that the items' `file` points to. */
    char **files;
    size_t file_count;
};

/* Finds the first `most` functions that the filter chooses. `enter_hook`: the address of
 * __cyg_profile_func_enter. In the object that contains the hooks, only functions that call them
 * are found. Other objects call the hooks through a table, so all their functions are found.
 * `found` is to be freed in any case. 0 or -ENOMEM. */
int spex_functions_find(const char *filter, uintptr_t enter_hook, size_t most,
                        struct spex_found_functions *found);
void spex_functions_found_free(struct spex_found_functions *found);

#endif
