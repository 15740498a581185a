/* SPDX-License-Identifier: MIT */
#include "explore/time_left.h"

#include <math.h>

/* The mean time of a trial follows the last ones, about so many: a search finds configurations that
 * take less. */
#define OF_LATE 8

/* More trials than this are not told. */
#define TRIALS_MOST 1e9

void spex_time_left_tell(struct spex_time_left *time, double passed, double limit) {
    double took = fmax(passed - time->passed, 0);
    double part = 1 / fmin((double)++time->told, OF_LATE);
    time->each += part * (took - time->each);
    time->passed = passed;
    time->limit = limit;
}

uint64_t spex_time_left_trials(const struct spex_time_left *time, uint64_t asked) {
    if (!(time->limit > 0) || !(time->each > 0))
        return 0;
    double more = round((time->limit - time->passed) / time->each);
    return (uint64_t)fmin((double)asked + fmax(more, 1), TRIALS_MOST);
}

bool spex_time_left_finals(const struct spex_time_left *time, double share) {
    return time->limit > 0 && time->passed >= (1 - share) * time->limit;
}

bool spex_time_left_over(const struct spex_time_left *time, double passed, double limit) {
    return limit > 0 && passed + time->each / 2 >= limit;
}
