/* SPDX-License-Identifier: MIT */
#include "tools/common/value_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "tools/common/complain.h"

/* Reads "NAME=LOW..HIGH", in place. Names may have a "=", as kernels' parameters do that are
 * expressions; the last one counts. */
static bool range_read(char *text, struct spex_value_range *range) {
    char *equals = strrchr(text, '='), *dots = equals ? strstr(equals, "..") : NULL;
    if (!dots || equals == text)
        return false;
    *equals = *dots = '\0';
    range->name = text;
    return spex_number_real(equals + 1, &range->low) &&
           spex_number_real(dots + strlen(".."), &range->high) && range->low >= 0 &&
           range->low <= range->high;
}

int spex_value_ranges_read(struct spex_value_ranges *ranges, const char *command,
                           const char *origin, const char *text) {
    *ranges = (struct spex_value_ranges){.text = strdup(text)};
    if (!ranges->text)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    for (char *rest = NULL, *item = strtok_r(ranges->text, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest)) {
        struct spex_value_range range;
        if (!range_read(item, &range))
            return spex_complain(SPEX_EXIT_USAGE,
                                 "%s: %s: NAME=LOW..HIGH was expected, with numbers of 0 or more, "
                                 "not \"%s\"",
                                 command, origin, text);
        if (spex_value_ranges_find(ranges, range.name))
            return spex_complain(SPEX_EXIT_USAGE, "%s: %s: one range of \"%s\" was expected",
                                 command, origin, range.name);
        if (ranges->count == SPEX_VALUE_RANGES_MAX)
            return spex_complain(SPEX_EXIT_USAGE, "%s: %s: %d ranges at most were expected",
                                 command, origin, SPEX_VALUE_RANGES_MAX);
        ranges->items[ranges->count++] = range;
    }
    return ranges->count ? SPEX_EXIT_OK
                         : spex_complain(SPEX_EXIT_USAGE, "%s: %s: NAME=LOW..HIGH was expected",
                                         command, origin);
}

void spex_value_ranges_free(struct spex_value_ranges *ranges) {
    free(ranges->text);
    *ranges = (struct spex_value_ranges){.count = 0};
}

const struct spex_value_range *spex_value_ranges_find(const struct spex_value_ranges *ranges,
                                                      const char *name) {
    for (size_t r = 0; r < ranges->count; r++)
        if (strcmp(ranges->items[r].name, name) == 0)
            return &ranges->items[r];
    return NULL;
}
