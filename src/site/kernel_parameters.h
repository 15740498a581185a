/* SPDX-License-Identifier: MIT */
/* How a kernel's parameters are written: what stands in the brackets of KERNEL_PROBE_BEGIN from `sc` on, "1, n, m", is
 * kept behind the name of the source file and the 0 at its end (spex/kernel.h). */
#ifndef SPEX_SITE_KERNEL_PARAMETERS_H
#define SPEX_SITE_KERNEL_PARAMETERS_H

#include <string.h>

/* "n, m" of "1, n, m"; empty where there are none. */
static inline const char *spex_parameters_of(const char *brackets) {
    const char *behind = brackets + strcspn(brackets, ",");
    return behind + strspn(behind, ", ");
}

#endif
