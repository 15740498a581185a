/* SPDX-License-Identifier: MIT */
#include "explore/space/output_pattern.h"

#include <stddef.h>

int spex_output_pattern(regex_t *pattern, const char *text, struct spex_error *error) {
    char reason[128];
    int failed = regcomp(pattern, text, REG_EXTENDED);
    if (failed == REG_ESPACE)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (failed) {
        regerror(failed, NULL, reason, sizeof(reason));
        return spex_fail(error, -EINVAL, "no regular expression: %s", reason);
    }
    if (pattern->re_nsub == 1)
        return 0;
    size_t groups = pattern->re_nsub;
    regfree(pattern);
    return spex_fail(error, -EINVAL, "one group in brackets, for the number, was expected, not %zu",
                     groups);
}
