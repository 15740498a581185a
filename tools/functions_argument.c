/* SPDX-License-Identifier: MIT */
#include "functions_argument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "function_names.h"
#include "variables.h"

int spex_functions_argument(const char *command, const char *origin, const char *filter) {
    char why[256];
    if (spex_function_filter_check(filter, why, sizeof(why)) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s: %s", command, origin, why);
    if (setenv(spex_variable_name(SPEX_VARIABLE_FUNCTIONS), filter, 1) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s: %s", command, origin, strerror(errno));
    return SPEX_EXIT_OK;
}
