/* SPDX-License-Identifier: MIT */
/* The two forms of a change: as text for a line, and as a JSON object. Ratios are printed as
 * factors ("x 1.034"), differences with their sign. */
#include "explore/report/change_text.h"

#include <stdio.h>

#include "explore/report/json_parts.h"

void spex_change_text(const struct spex_change *change, char *text, size_t size) {
    int length = snprintf(text, size, change->ratio ? "x %.4g" : "%+.4g", change->value);
    if (change->known && length >= 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " (%.4g to %.4g)", change->low,
                 change->high);
}

json_t *spex_change_json(const struct spex_change *change) {
    json_t *interval = change->known ? json_pack("[f, f]", change->low, change->high) : json_null();
    json_t *significant = change->known ? json_boolean(change->significant) : json_null();
    return json_pack("{s:f, s:o, s:o}", change->ratio ? "ratio" : "difference", change->value,
                     "interval", interval, "significant", significant);
}
