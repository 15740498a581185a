/* SPDX-License-Identifier: MIT */
/* Assigns the names of parameters that a program sets (spex_parameter) to slots in the records of
 * its functions. */
#ifndef SPEX_KERNELS_FUNCTION_PARAMETERS_H
#define SPEX_KERNELS_FUNCTION_PARAMETERS_H

#include <stddef.h>

/* Assigns a slot to each name in the objects that are loaded; values are stored from then on.
 * Objects that are loaded later get slots for names that are known already. Returns the number of
 * slots; says on standard error which names got none. Takes a lock. */
unsigned spex_parameters_give(void);

/* Writes "n, m", the names in the order of their slots, cut to `size`. */
void spex_parameters_text(char *text, size_t size);

#endif
