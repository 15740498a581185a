/* SPDX-License-Identifier: MIT */
/* `spex top` on a terminal: handles keys, reports and signals. */
#ifndef SPEX_TOOLS_TOP_TOP_LIVE_H
#define SPEX_TOOLS_TOP_TOP_LIVE_H

#include "tools/top/top_feed.h"

/* A library that it needs and that spex was built without; NULL: none. */
extern const char *const spex_top_live_lacks;

/* Runs until the user quits, or `count` reports have come (0: no limit). Returns the exit
 * status. */
int spex_top_live(struct spex_top_feed *feed, unsigned long count, bool totals);

#endif
