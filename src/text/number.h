/* SPDX-License-Identifier: MIT */
/* Parses numbers. The whole text must be the number. The functions return false, with *value
 * unspecified, when it is not. Any thread. */
#ifndef SPEX_TEXT_NUMBER_H
#define SPEX_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a decimal integer with an optional minus sign and without leading zeros. */
bool spex_number_integer(const char *text, int64_t *value);

/* Parses a decimal number of at least 0 without an exponent, such as "2" or "0.25". Does not depend
 * on the locale, so the library can use it in any program. */
bool spex_number_seconds(const char *text, double *value);

/* Parses a finite decimal number, such as "-2", "0.25" or "1e-3". */
bool spex_number_real(const char *text, double *value);

enum { SPEX_DOUBLE_TEXT_BYTES = 32 };

/* Writes as few digits as read back as the same number: "0.1"; "nan", "inf" or "-inf". Returns
 * `text`. */
const char *spex_double_text(double value, char text[SPEX_DOUBLE_TEXT_BYTES]);

#endif
