/* SPDX-License-Identifier: MIT */
#include "text/quantity.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/plain_numbers.h"

/* Digits of a value whose margin is not known; the least and the most of one whose margin is. */
enum { DIGITS_UNKNOWN = 4, DIGITS_LEAST = 2, DIGITS_MOST = 6 };

/* A prefix of a unit, for values from `from` on. */
struct prefix {
    double from, factor;
    const char *name;
};

/* The last one of each is for what is smaller, too. */
static const struct prefix of_times[] = {
    {1, 1, ""}, {1e-3, 1e-3, "m"}, {1e-6, 1e-6, "µ"}, {0, 1e-9, "n"}};
static const struct prefix of_bytes[] = {{0x1p40, 0x1p40, "Ti"},
                                         {0x1p30, 0x1p30, "Gi"},
                                         {0x1p20, 0x1p20, "Mi"},
                                         {0x1p10, 0x1p10, "Ki"},
                                         {0, 1, ""}};
/* Numbers of up to four digits are read as easily without a prefix. */
static const struct prefix of_counts[] = {{1e15, 1, ""},   {1e12, 1e12, "T"}, {1e9, 1e9, "G"},
                                          {1e6, 1e6, "M"}, {1e4, 1e3, "k"},   {0, 1, ""}};
static const struct prefix of_others[] = {{0, 1, ""}};

static const struct prefix *prefix_of(const char *unit, double magnitude) {
    const struct prefix *prefix = strcmp(unit, "s") == 0   ? of_times
                                  : strcmp(unit, "B") == 0 ? of_bytes
                                  : !*unit || *unit == '/' ? of_counts
                                                           : of_others;
    while (prefix->from > 0 && magnitude < prefix->from)
        prefix++;
    return prefix;
}

/* The decimal exponent of the first digit. */
static int exponent_of(double magnitude) {
    return (int)floor(log10(magnitude));
}

/* The digits of a value that its margin leaves: down to the margin's first digit, or its second
 * where the first is 1 or 2 and would say little alone. */
static int digits_known(double magnitude, double margin) {
    if (!(magnitude > 0) || !isfinite(magnitude))
        return 1;
    if (!(margin > 0) || !isfinite(margin))
        return margin == 0 ? DIGITS_MOST : DIGITS_UNKNOWN;
    int place = exponent_of(margin);
    place -= margin < 3 * pow(10, place);
    int digits = exponent_of(magnitude) - place + 1;
    return digits < DIGITS_LEAST ? DIGITS_LEAST : digits > DIGITS_MOST ? DIGITS_MOST : digits;
}

/* Removes zeros at the end of a number's fraction. Those of an exponent stay. */
static void strip_zeros(char *number) {
    size_t length = strlen(number);
    if (!strchr(number, '.') || strchr(number, 'e'))
        return;
    while (number[length - 1] == '0')
        number[--length] = '\0';
    if (number[length - 1] == '.')
        number[length - 1] = '\0';
}

/* Writes the number alone, with so many digits; *prefix is the one that its unit gets. `exact`: zeros
 * at the end are known, and written. */
static void digits_text(double value, int digits, bool exact, const char *unit, char *text,
                        size_t size, const struct prefix **prefix) {
    char rounded[32];
    snprintf(rounded, sizeof(rounded), "%.*e", digits - 1, value);
    double magnitude = fabs(strtod(rounded, NULL));
    *prefix = prefix_of(unit, magnitude);
    double scaled = magnitude / (*prefix)->factor;
    int decimals = scaled > 0 ? digits - 1 - exponent_of(scaled * (1 + 1e-12)) : 0;
    if (value != 0 && (scaled >= 1e15 || scaled < 1e-4))
        snprintf(text, size, "%.*g", digits, value / (*prefix)->factor);
    else if (decimals > 0 || exact)
        snprintf(text, size, "%.*f", decimals > 0 ? decimals : 0, copysign(scaled, value));
    else /* no digit before the point is rounded away */
        snprintf(text, size, "%.0f", value / (*prefix)->factor);
    if (!exact)
        strip_zeros(text);
}

/* The same with the digits that the margin leaves. */
static void number_text(double value, double margin, const char *unit, char *text, size_t size,
                        const struct prefix **prefix) {
    bool exact = isfinite(margin) && margin > 0;
    digits_text(value, digits_known(fabs(value), margin), exact, unit, text, size, prefix);
}

/* Writes prefix and unit: "k/s", " µs", "". */
static void unit_text(const struct prefix *prefix, const char *unit, char *text, size_t size) {
    bool apart = prefix->name[0] || (unit[0] && unit[0] != '/');
    snprintf(text, size, "%s%s%s", apart ? " " : "", prefix->name, unit);
}

const char *spex_quantity_digits(double value, int digits, bool zeros, const char *unit, char *text,
                                 size_t size) {
    SPEX_PLAIN_NUMBERS;
    char number[40], behind[40];
    const struct prefix *prefix;
    if (!isfinite(value)) {
        snprintf(text, size, "-");
        return text;
    }
    digits_text(value, value != 0 ? digits : 1, zeros, unit, number, sizeof(number), &prefix);
    unit_text(prefix, unit, behind, sizeof(behind));
    snprintf(text, size, "%s%s", number, behind);
    return text;
}

const char *spex_quantity_text(double value, double margin, const char *unit, char *text,
                               size_t size) {
    return spex_quantity_digits(value, digits_known(fabs(value), margin),
                                isfinite(margin) && margin > 0, unit, text, size);
}

const char *spex_range_text(double low, double high, const char *unit, char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    char from[40], to[40], behind_from[40], behind_to[40];
    const struct prefix *of_from, *of_to;
    double margin = (high - low) / 2;
    if (!isfinite(low) || !isfinite(high)) {
        snprintf(text, size, "-");
        return text;
    }
    number_text(low, margin, unit, from, sizeof(from), &of_from);
    number_text(high, margin, unit, to, sizeof(to), &of_to);
    unit_text(of_from, unit, behind_from, sizeof(behind_from));
    unit_text(of_to, unit, behind_to, sizeof(behind_to));
    snprintf(text, size, "%s%s to %s%s", from, of_from == of_to ? "" : behind_from, to, behind_to);
    return text;
}

/* In characters: bytes that continue a UTF-8 sequence do not count. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

const char *spex_quantity_within(double value, const char *unit, int width, char *text,
                                 size_t size) {
    int digits = DIGITS_UNKNOWN;
    do {
        spex_quantity_digits(value, digits, false, unit, text, size);
    } while (width_of(text) > width && --digits > 0);
    return text;
}

/* Below this, in percent, a share is told as less. */
#define PERCENT_LEAST 1e-3

const char *spex_percent_within(double share, int digits, int width, char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    char number[40];
    double percent = 100 * share;
    const struct prefix *prefix;
    bool little = percent != 0 && fabs(percent) < PERCENT_LEAST;
    if (!isfinite(share)) {
        snprintf(text, size, "-");
        return text;
    }
    do {
        digits_text(little ? PERCENT_LEAST : percent, little ? 1 : digits, false, "%", number,
                    sizeof(number), &prefix);
        snprintf(text, size, "%s%s %%", little ? "<" : "", number);
    } while (width_of(text) > width && !little && --digits > 0);
    if (width_of(text) > width)
        text[strlen(text) - strlen(" %")] = '\0';
    return text;
}

const char *spex_percent_text(double share, int digits, char *text, size_t size) {
    return spex_percent_within(share, digits, INT_MAX, text, size);
}

const char *spex_bytes_text(double bytes, char *text, size_t size) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    SPEX_PLAIN_NUMBERS;
    unsigned n = 0;
    while (n + 1 < sizeof(names) / sizeof(names[0]) && bytes != 0 && fmod(bytes, 1024) == 0) {
        bytes /= 1024;
        n++;
    }
    snprintf(text, size, "%.15g %s", bytes, names[n]);
    return text;
}
