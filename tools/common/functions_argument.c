/* SPDX-License-Identifier: MIT */
/* The library reads the filter from the environment when the program starts; the command checks
 * it before. */
#include "tools/common/functions_argument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/function_names.h"
#include "text/variables.h"
#include "tools/common/complain.h"

/* The variable is set in this process, from which the program inherits it. */
int spex_functions_argument(const char *command, const char *origin, const char *filter) {
    struct spex_error error;
    if (spex_function_filter_check(filter, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s: %s", command, origin, error.text);
    if (setenv(spex_variable_name(SPEX_VARIABLE_FUNCTIONS), filter, 1) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s: %s", command, origin, strerror(errno));
    return SPEX_EXIT_OK;
}
