/* SPDX-License-Identifier: MIT */
/* The names that a program gives parameters of its functions by (spex_parameter): each has a slot
 * in their records. */
#ifndef SPEX_FUNCTIONS_FUNCTION_PARAMETERS_H
#define SPEX_FUNCTIONS_FUNCTION_PARAMETERS_H

#include <stddef.h>

/* Gives the names of all objects that are loaded a slot, once, so that values are taken from here
 * on; later objects have the slots of the names that are known. How many there are; says on
 * standard error for which there is none. */
unsigned spex_parameters_give(void);

/* "n, m", in the order of the slots; as much of it as fits. */
void spex_parameters_text(char *text, size_t size);

#endif
