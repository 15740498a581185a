/* SPDX-License-Identifier: MIT */
#include "rate/told.h"

#include <math.h>

#include "base/student.h"
#include "rate/groups.h"

struct spex_controller_view spex_rate_look(const struct spex_rate *rate, uint32_t first) {
    uint32_t by = spex_groups_by(first);
    const struct spex_rate_known *known = &rate->known[by];
    bool told = known->state == SPEX_RATE_SLICED && known->share > 0 &&
                isfinite(known->found.error) && known->hot > 0;
    return (struct spex_controller_view){
        .frequency = by == first ? known->rate : 0,
        .frequency_held = by == first ? known->rate_uncounted : 0,
        .period = known->period,
        .factor = told ? known->likely / known->hot : 0,
        .why = known->why,
    };
}

/* Executions a tick on one CPU: an execution is a branch at least, of which a core takes two a cycle, and a
 * core may run at twice the rate of its time stamp counter. Where slices do not tell how often a probe was
 * executed, this is all that is known. */
#define EXECUTIONS_MOST 4.0

struct spex_held_executions spex_rate_held(const struct spex_rate *rate,
                                           const struct spex_snapshot *snapshot, uint32_t first,
                                           double count, const struct spex_slices_time *passed) {
    uint32_t by = spex_groups_by(first);
    const struct spex_rate_known *known = &rate->known[by];
    const struct spex_slices *slices = &snapshot->slices[first];
    const struct spex_slices_reading now = spex_slices_read(slices, count, passed);
    const struct spex_speedup speedup =
        spex_snapshot_speedup(snapshot, known, slices, &now, by != first, rate->cpus);
    struct spex_held_executions held = spex_slices_estimate(slices, &now, &speedup);
    /* In a region executions are known by those that were chosen: one more may have been. */
    double weight = by != first ? fmax(known->slice_period, 1) : 1;
    if (held.margin >= 0 && now.on > 0) {
        double one_more = SPEX_UNSEEN_95 * weight * now.held / now.on;
        held.margin += one_more;
        held.least = fmax(held.least - one_more, 0);
    } else if (held.margin < 0)
        held.margin = EXECUTIONS_MOST * fmax(rate->cpus, 1) * passed->held;
    return held;
}
