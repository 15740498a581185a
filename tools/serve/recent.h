/* SPDX-License-Identifier: MIT */
/* Where the recent time of a process begins, of which quantiles are told: 10 to 20 s ago where it is
 * asked often, else at the report before the last one. Any number of clients may ask: what is kept
 * goes by the age of reports, and not by who has asked for them. */
#ifndef SPEX_TOOLS_SERVE_RECENT_H
#define SPEX_TOOLS_SERVE_RECENT_H

#include "profile/profile.h"

#define SPEX_RECENT_SECONDS 10

/* Two reports of a process, the newer one at least SPEX_RECENT_SECONDS after the older; all zero:
 * there are none yet. */
struct spex_recent {
    struct spex_profile older, newer;
};

/* Takes a report that is no longer the last one, `latest`, and empties it. */
void spex_recent_offer(struct spex_recent *recent, struct spex_profile *report,
                       const struct spex_profile *latest);

/* The report at which the recent time begins, of a process whose last report is `latest`; NULL: none
 * is known. */
const struct spex_profile *spex_recent_begin(const struct spex_recent *recent,
                                             const struct spex_profile *latest);

void spex_recent_free(struct spex_recent *recent);

#endif
