/* SPDX-License-Identifier: MIT */
/* The names of a kernel's parameters. KERNEL_PROBE_BEGIN(id, sc, p1, …) stores the text of its
 * arguments from `sc` on, such as "1, n, m", behind the terminating 0 of the source file's name
 * (SPEX_SITE_TEXT_ASM_ in spex/detail/site_asm.h). */
#ifndef SPEX_SITE_KERNEL_PARAMETERS_H
#define SPEX_SITE_KERNEL_PARAMETERS_H

#include <string.h>

/* Returns the part of that text behind `sc`: "n, m" of "1, n, m"; empty when the kernel has no
 * parameters. */
static inline const char *spex_parameters_of(const char *brackets) {
    const char *behind = brackets + strcspn(brackets, ",");
    return behind + strspn(behind, ", ");
}

#endif
