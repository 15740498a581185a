/* SPDX-License-Identifier: MIT */
#include "rate/throttle.h"

#include <math.h>

#include "collect/collector.h"
#include "collect/metrics.h"
#include "rate/groups.h"
#include "rate/plan.h"
#include "ring/doorbell.h"

/* Records of a slice stand for the hold-off before it, and for slices without records before that. */
static void slice_weigh(uint32_t index, double scale) {
    if (!spex_groups_is(index)) {
        spex_metrics_slice(index, scale);
        return;
    }
    for (uint32_t i = spex_groups_next(index, 0); i < spex_sites_count();
         i = spex_groups_next(index, i + 1))
        spex_metrics_slice(i, scale);
}

static void slice_begin(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                        const struct spex_rate_subject *of) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    bool sliced = known->state == SPEX_RATE_SLICED;
    spex_snapshot_note_slice(snapshot, rate, of->index);
    slice_weigh(of->index, sliced ? 1 + known->off / fmax(rate->slices.length, 1e-9) : 1);
}

/* The period is set again where it is the same: sites may have been switched off by a selection in
 * between, or loaded since. */
void spex_rate_throttle(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                        const struct spex_rate_subject *of, uint32_t *before) {
    uint32_t now = spex_rate_known(rate, of)->period;
    bool begins = *before == SPEX_SITE_HELD && now != SPEX_SITE_HELD;
    if (begins)
        slice_begin(snapshot, rate, of);
    if (*before || now)
        spex_probe_throttle(of->index, now);
    *before = now;
    /* Other collectors may sleep until a probe is on. */
    if (begins && spex_collectors_running() > 1)
        spex_doorbell_ring();
}
