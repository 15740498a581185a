/* SPDX-License-Identifier: MIT */
#include "tools/functions/function_kernel.h"

#include <stdio.h>
#include <string.h>

/* Whether another function has the name. */
static bool has_double(const struct spex_process_functions *all,
                       const struct spex_process_function *function) {
    for (size_t f = 0; f < all->count; f++)
        if (&all->items[f] != function && strcmp(all->items[f].name, function->name) == 0)
            return true;
    return false;
}

void spex_function_as_kernel(const struct spex_process_functions *all,
                             const struct spex_process_function *function,
                             struct spex_function_kernel *kernel) {
    bool doubled = has_double(all, function);
    snprintf(kernel->path, sizeof(kernel->path), "%.80s%s%.160s", doubled ? function->object : "",
             doubled ? ":" : "", function->name);
    for (unsigned a = 0; a < function->arguments.count; a++)
        kernel->names[a] = function->arguments.items[a].name;
}
