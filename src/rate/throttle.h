/* SPDX-License-Identifier: MIT */
#ifndef SPEX_RATE_THROTTLE_H
#define SPEX_RATE_THROTTLE_H

#include "rate/snapshot.h"

/* Has a probe, or a group, do what was decided. `before`: the period that it had, which is updated. */
void spex_rate_throttle(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                        const struct spex_rate_subject *of, uint32_t *before);

#endif
