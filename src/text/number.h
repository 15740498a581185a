/* SPDX-License-Identifier: MIT */
/* Numbers from text, strictly: the whole text is the number, or there is none. */
#ifndef SPEX_TEXT_NUMBER_H
#define SPEX_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, with an optional minus sign, without leading zeros. */
bool spex_number_integer(const char *text, int64_t *value);

/* A finite decimal number of at least 0, "2" or "0.25". */
bool spex_number_seconds(const char *text, double *value);

/* A finite decimal number, "-2", "0.25" or "1e-3". */
bool spex_number_real(const char *text, double *value);

#endif
