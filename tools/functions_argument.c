/* SPDX-License-Identifier: MIT */
#include "functions_argument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "function_names.h"
#include "variables.h"

int spex_functions_argument(const char *command, const char *filter) {
    char why[256];
    if (spex_function_filter_check(filter, why, sizeof(why)) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: --functions: %s", command, why);
    if (setenv(spex_variable_name(SPEX_VARIABLE_FUNCTIONS), filter, 1) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s: --functions: %s", command, strerror(errno));
    return SPEX_EXIT_OK;
}
