/* SPDX-License-Identifier: MIT */
/* `spex top` on a terminal: what keys and reports do. */
#ifndef SPEX_TOP_LIVE_H
#define SPEX_TOP_LIVE_H

#include "top_feed.h"

/* Until the user has enough, or `count` reports have come (0: any number). Returns the exit status. */
int spex_top_live(struct spex_top_feed *feed, unsigned long count);

#endif
