/* SPDX-License-Identifier: MIT */
#include "wire/dormant.h"

#include <stdlib.h>
#include <string.h>

/* Kernels before 5.9 tell the mode alone, which is 0 without filters; those that have none tell
 * nothing. */
uint32_t spex_dormant_filters(const char *status) {
    static const char mode[] = "\nSeccomp:\t", filters[] = "\nSeccomp_filters:\t";
    const char *line = strstr(status, filters);
    if (line)
        return (uint32_t)strtoul(line + strlen(filters), NULL, 10);
    line = strstr(status, mode);
    return line && strtoul(line + strlen(mode), NULL, 10) ? SPEX_DORMANT_FILTERS_UNKNOWN : 0;
}
