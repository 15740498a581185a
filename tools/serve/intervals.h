/* SPDX-License-Identifier: MIT */
/* What the intervals of the last hour told, for pages that are opened or loaded again: of each
 * process that was followed, also when it has ended. */
#ifndef SPEX_TOOLS_SERVE_INTERVALS_H
#define SPEX_TOOLS_SERVE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/profile.h"
#include "tools/common/json.h"

/* Processes that have a history at one time, intervals of each, and bytes of all. Where there are
 * more, the oldest are forgotten. */
enum {
    SPEX_INTERVALS_PROCESSES = 16,
    SPEX_INTERVALS_MOST = 3600,
    SPEX_INTERVALS_BYTES = 64 * 1024 * 1024,
};

struct spex_past;

/* All zero at first. */
struct spex_intervals {
    struct spex_past *processes[SPEX_INTERVALS_PROCESSES];
    size_t bytes;
};

/* Keeps an interval of a process, as spex_api_interval_json has it. Where memory is short it is left
 * out. */
void spex_intervals_take(struct spex_intervals *intervals, pid_t process,
                         const struct spex_profile_process *latest, const json_t *json);

void spex_intervals_free(struct spex_intervals *intervals);

#endif
