/* SPDX-License-Identifier: MIT */
/* Least squares of own = second * seconds + record * records. What a record takes is known roughly
 * beforehand, so that a few seconds without records do not make a record free. */
#include "rate/collecting.h"

#include <math.h>

/* Seconds after which a part weighs 1/e. */
#define MEMORY 3.0

/* Before anything is known: seconds a record, as of so many. Draining one takes 20 to 200 ns. */
#define RECORD_GUESS   100e-9
#define RECORD_GUESSES 1e4

void spex_rate_collecting_add(struct spex_rate_collecting *sums, double seconds, double records,
                              double own) {
    double kept = exp(-seconds / MEMORY);
    if (!(seconds > 0))
        return;
    /* Each part weighs by its length. */
    double weight = 1 / seconds;
    sums->seconds2 = sums->seconds2 * kept + weight * seconds * seconds;
    sums->both = sums->both * kept + weight * seconds * records;
    sums->records2 = sums->records2 * kept + weight * records * records;
    sums->own_seconds = sums->own_seconds * kept + weight * own * seconds;
    sums->own_records = sums->own_records * kept + weight * own * records;
}

struct spex_rate_collecting_cost spex_rate_collecting_cost(
    const struct spex_rate_collecting *sums) {
    double records2 = sums->records2 + RECORD_GUESSES * RECORD_GUESSES;
    double own_records = sums->own_records + RECORD_GUESSES * RECORD_GUESSES * RECORD_GUESS;
    double det = sums->seconds2 * records2 - sums->both * sums->both;
    struct spex_rate_collecting_cost cost = {0, RECORD_GUESS};
    if (!(det > 0))
        return cost;
    cost.second = (sums->own_seconds * records2 - own_records * sums->both) / det;
    cost.record = (own_records * sums->seconds2 - sums->own_seconds * sums->both) / det;
    cost.second = fmax(cost.second, 0);
    cost.record = fmax(cost.record, 0);
    return cost;
}
