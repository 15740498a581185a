/* SPDX-License-Identifier: MIT */
/* Figures as the user reads them: rounded, with the unit of the criterion. */
#include "explore/space/value_text.h"

#include <math.h>
#include <stdio.h>

#include "measure/criterion.h"

/* The unit behind a number: seconds are set apart by a space, "/s" is not. */
static const char *unit_text(const struct spex_criterion *criterion) {
    const char *unit = spex_criterion_unit(criterion);
    return *unit == 's' ? " s" : unit;
}

/* Numbers of up to nine digits are printed without an exponent. */
static void number_text(double value, char *text, size_t size) {
    snprintf(text, size, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.5g", value);
}

void spex_value_text(const struct spex_criterion *criterion, double value, char *text,
                     size_t size) {
    char number[32];
    number_text(value, number, sizeof(number));
    snprintf(text, size, "%s%s", isnan(value) ? "-" : number,
             isnan(value) ? "" : unit_text(criterion));
}

void spex_interval_text(const struct spex_criterion *criterion, double low, double high, char *text,
                        size_t size) {
    char from[32], to[32];
    number_text(low, from, sizeof(from));
    number_text(high, to, sizeof(to));
    if (isnan(low) || isnan(high))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%s to %s%s", from, to, unit_text(criterion));
}

void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size) {
    const char *unit = spex_criterion_unit(criterion);
    char field[16] = "";
    if (criterion->field)
        snprintf(field, sizeof(field), "[%u]", criterion->field);
    snprintf(text, size, "%s of %s%s%s%s%s", criterion->metric, criterion->probe, field,
             *unit ? " [" : "", unit, *unit ? "]" : "");
}
