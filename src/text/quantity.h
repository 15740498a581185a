/* SPDX-License-Identifier: MIT */
/* Writes numbers as people write them, for tables, pages and pictures: with as many digits as are
 * known, and with prefixes of units. Programs get plain numbers (SPEX_PLAIN_DIGITS). Any thread. */
#ifndef SPEX_TEXT_QUANTITY_H
#define SPEX_TEXT_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* Significant digits of plain numbers in JSON and CSV: more than any measurement has, and few
 * enough that 0.1 is not written as 0.10000000000000001. */
#define SPEX_PLAIN_DIGITS 12

/* Writes a value with its unit: "2.3 µs" for "s", "32 MiB" for "B", "510 k/s" for "/s", "17" for
 * "". `margin` is half of its 95 % interval: digits that it makes meaningless are left out, two are
 * left at least; NaN: it is not known, and up to four digits are written. "-" for a value that is
 * not finite. Returns `text`. */
const char *spex_quantity_text(double value, double margin, const char *unit, char *text,
                               size_t size);

/* Writes a value with so many digits; digits before the point are never rounded away. Zeros at the
 * end are written where `zeros` is set. "-" for a value that is not finite. Returns `text`. */
const char *spex_quantity_digits(double value, int digits, bool zeros, const char *unit, char *text,
                                 size_t size);

/* Writes the ends of an interval: "628 to 681/s", "8.2 ns to 0.95 ms"; "-" when one is not finite.
 * Returns `text`. */
const char *spex_range_text(double low, double high, const char *unit, char *text, size_t size);

/* Writes a value whose margin is not known in `width` characters, where it can be: digits behind the
 * point are dropped, never a part of a number. Returns `text`. */
const char *spex_quantity_within(double value, const char *unit, int width, char *text,
                                 size_t size);

/* Writes a share as a percentage with so many digits at most: "12.3 %"; "<0.001 %" for what is less,
 * but not 0; "-" for a share that is not finite. In `width` characters, where it can be: digits are
 * dropped first, then the unit. Returns `text`. */
const char *spex_percent_text(double share, int digits, char *text, size_t size);
const char *spex_percent_within(double share, int digits, int width, char *text, size_t size);

/* Writes a number of bytes exactly, with the greatest binary prefix that divides it: "32 MiB",
 * "1000 B". Returns `text`. */
const char *spex_bytes_text(double bytes, char *text, size_t size);

#endif
