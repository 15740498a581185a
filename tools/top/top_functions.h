/* SPDX-License-Identifier: MIT */
/* A feed of functions of a program that was built without spex: what is counted here, in place of what the program
 * reports. */
#ifndef SPEX_TOOLS_TOP_TOP_FUNCTIONS_H
#define SPEX_TOOLS_TOP_TOP_FUNCTIONS_H

#include "tools/functions/function_watch.h"
#include "tools/top/top_feed.h"

/* `watch` is open, and stays the caller's. */
void spex_top_functions_open(struct spex_top_feed *feed, struct spex_function_watch *watch,
                             uint32_t interval_ms);

#endif
