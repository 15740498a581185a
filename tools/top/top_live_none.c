/* SPDX-License-Identifier: MIT */
/* In the place of top_live.c and top_screen.c where spex is built without ncurses. */
#include "tools/top/top_live.h"

#include "tools/common/complain.h"

const char *const spex_top_live_lacks = "ncurses";

int spex_top_live(struct spex_top_feed *feed, unsigned long count, bool totals) {
    (void)feed, (void)count, (void)totals;
    return SPEX_EXIT_FAILED;
}
