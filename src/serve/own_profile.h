/* SPDX-License-Identifier: MIT */
/* The profile of this process, part by part, from the state of the rooms below. */
#ifndef SPEX_SERVE_OWN_PROFILE_H
#define SPEX_SERVE_OWN_PROFILE_H

#include "profile/profile.h"

/* The name of the program, as it was loaded; printable. */
const char *spex_profile_own_name(void);

void spex_profile_process_now(struct spex_profile_process *process);

/* The type with number `n`, below SPEX_PROFILE_TYPES. */
void spex_profile_type_now(unsigned n, struct spex_profile_type *type);

void spex_profile_site_now(uint32_t index, struct spex_profile_site *site);

/* The row of the probe whose first site this is. The caller holds the metrics' lock
 * (spex_metrics_lock); the row's `values` are valid until it releases it. */
void spex_profile_probe_now(uint32_t index, struct spex_profile_row *row);

/* The whole profile, of the sites those of snapshots alone, for this process's own table at its end,
 * when no other thread of spex runs. Values stay valid until the metrics are finished. The caller
 * frees it. 0 or -ENOMEM. */
int spex_profile_now(struct spex_profile *profile);
void spex_profile_now_free(struct spex_profile *profile);

/* When the library was loaded, CLOCK_MONOTONIC in ns. */
uint64_t spex_profile_loaded_ns(void);

#endif
