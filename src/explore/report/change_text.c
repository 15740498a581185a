/* SPDX-License-Identifier: MIT */
/* The two forms of a change: as text for a line, and as a JSON object. Ratios are printed as
 * factors ("x 1.034"), differences with their sign. Where trials do not differ, as in counts that
 * are always the same, there is no interval; nor are more digits told than changes are judged by. */
#include "explore/report/change_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "explore/report/json_parts.h"
#include "text/quantity.h"

void spex_change_text(const struct spex_change *change, const char *unit, char *text, size_t size) {
    char value[48], interval[96] = "";
    double margin = change->known ? (change->high - change->low) / 2 : NAN;
    double least = SPEX_CHANGE_LEAST * fabs(change->value);
    bool close = change->high > change->low && margin < least;
    unit = change->ratio ? "" : unit;
    spex_quantity_text(change->value, close ? least : margin, unit, value, sizeof(value));
    if (close)
        snprintf(interval, sizeof(interval), "to 0.05 %%");
    else if (change->high > change->low)
        spex_range_text(change->low, change->high, unit, interval, sizeof(interval));
    else
        snprintf(interval, sizeof(interval), "the same each time");
    snprintf(text, size, "%s%s%s%s%s",
             change->ratio        ? "x "
             : change->value >= 0 ? "+"
                                  : "",
             value, change->known ? " (" : "", change->known ? interval : "",
             change->known ? ")" : "");
}

json_t *spex_change_json(const struct spex_change *change) {
    json_t *interval = change->known ? json_pack("[f, f]", change->low, change->high) : json_null();
    json_t *significant = change->known ? json_boolean(change->significant) : json_null();
    return json_pack("{s:f, s:o, s:o}", change->ratio ? "ratio" : "difference", change->value,
                     "interval", interval, "significant", significant);
}
