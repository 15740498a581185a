/* SPDX-License-Identifier: MIT */
/* What is told of a probe, by what the controller knows. `first`: the index of its first site. */
#ifndef SPEX_RATE_TOLD_H
#define SPEX_RATE_TOLD_H

#include "rate/controller.h"
#include "rate/snapshot.h"

struct spex_controller_view spex_rate_look(const struct spex_rate *rate, uint32_t first);

/* See spex_controller_held. */
struct spex_held_executions spex_rate_held(const struct spex_rate *rate,
                                           const struct spex_snapshot *snapshot, uint32_t first,
                                           double count, const struct spex_slices_time *passed);

#endif
