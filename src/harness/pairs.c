/* SPDX-License-Identifier: MIT */
#include "harness/pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A difference is known well enough when half its interval is at most this share of it. */
#define KNOWN_SHARE (1.0 / 3)

/* The chance that one look's interval misses. */
#define MISS (0.05 / SPEX_PAIRS_LOOKS)

/* More pairs than spex_centre takes are joined, so many neighbours each, which keeps their means
 * symmetric around 0. Neighbours that are left over are not joined, and not used. */
static size_t join(const struct spex_pairs *pairs, double *joined) {
    size_t each = (pairs->count + SPEX_CENTRE_MAX - 1) / SPEX_CENTRE_MAX, count = 0;
    for (size_t from = 0; from + each <= pairs->count; from += each) {
        double sum = 0;
        for (size_t i = 0; i < each; i++)
            sum += pairs->logs[from + i];
        joined[count++] = sum / (double)each;
    }
    return count;
}

static enum spex_pairs_outcome outcome_of(const struct spex_estimate *logs) {
    double indifferent = log(1 + SPEX_PAIRS_INDIFFERENT);
    if (logs->low > -indifferent && logs->high < indifferent)
        return SPEX_PAIRS_SAME;
    return logs->low > 0 || logs->high < 0 ? SPEX_PAIRS_DIFFER : SPEX_PAIRS_UNKNOWN;
}

static int look(struct spex_pairs *pairs) {
    double joined[SPEX_CENTRE_MAX];
    struct spex_estimate *logs = &pairs->log_ratio;
    *logs = spex_centre_within(joined, join(pairs, joined), MISS);
    if (isnan(logs->value))
        return -ENOMEM;
    pairs->looked = pairs->count;
    pairs->outcome = outcome_of(logs);
    pairs->over = pairs->outcome == SPEX_PAIRS_SAME || pairs->count >= SPEX_PAIRS_MOST ||
                  (pairs->outcome == SPEX_PAIRS_DIFFER &&
                   (logs->high - logs->low) / 2 <= KNOWN_SHARE * fabs(logs->value));
    return 0;
}

/* Whether there is a look after so many pairs. */
static bool is_time(size_t count) {
    size_t at = SPEX_PAIRS_FIRST;
    while (at < count)
        at *= 2;
    return at == count;
}

int spex_pairs_add(struct spex_pairs *pairs, double log_ratio) {
    if (pairs->count == pairs->room) {
        size_t room = pairs->room ? 2 * pairs->room : 16;
        double *more = realloc(pairs->logs, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        pairs->logs = more;
        pairs->room = room;
    }
    pairs->logs[pairs->count++] = log_ratio;
    return is_time(pairs->count) ? look(pairs) : 0;
}

int spex_pairs_end(struct spex_pairs *pairs) {
    return pairs->count > pairs->looked ? look(pairs) : 0;
}

void spex_pairs_free(struct spex_pairs *pairs) {
    free(pairs->logs);
    *pairs = (struct spex_pairs){.logs = NULL};
}
