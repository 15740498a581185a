/* SPDX-License-Identifier: MIT */
/* The figures of a process that has died, of all its records: where none has been overwritten its
 * rings still have those that it had taken out of them. */
#ifndef SPEX_OBSERVE_REMAINS_WHOLE_H
#define SPEX_OBSERVE_REMAINS_WHOLE_H

#include "profile/profile.h"

/* Replaces what comes of records in the last profile that the process has sent, which owns its
 * values, `seconds` before its end. Owns `file`, the descriptor of its rings; -1: none.
 * `ticks_per_second` is for a profile that does not tell yet. 0; -ENODATA: not all records are
 * there, or a budget has chosen them; or -ENOMEM. Then the profile is as it was, and `*since` says
 * how many records the process has made after it; -1: that is not known. */
int spex_profile_make_whole(struct spex_profile *profile, int file, double seconds,
                            double ticks_per_second, int64_t *since);

#endif
