/* SPDX-License-Identifier: MIT */
/* A function as a kernel of a model: its arguments are the parameters. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_KERNEL_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_KERNEL_H

#include "attach/process_functions.h"

struct spex_function_kernel {
    /* The function's name; with the object's, if another function has that name. */
    char path[256];
    /* Those of its arguments: the function's. */
    const char *names[SPEX_ARGUMENTS_MAX];
};

void spex_function_as_kernel(const struct spex_process_functions *all,
                             const struct spex_process_function *function,
                             struct spex_function_kernel *kernel);

#endif
