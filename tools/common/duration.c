/* SPDX-License-Identifier: MIT */
#include "tools/common/duration.h"

#include <stdio.h>
#include <string.h>

#include "text/number.h"

#define SECONDS_MOST (30 * 86400.0)

bool spex_duration_read(const char *text, double *seconds) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    char digits[32];
    size_t length = strspn(text, "0123456789.");
    snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
    if (length >= sizeof(digits) || !spex_number_seconds(digits, seconds))
        return false;
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
        if (strcmp(text + length, units[u].name) == 0) {
            *seconds *= units[u].seconds;
            return *seconds > 0 && *seconds <= SECONDS_MOST;
        }
    return false;
}
