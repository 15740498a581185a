/* SPDX-License-Identifier: MIT */
/* What an explorer that was killed has left behind: its directory, and what its programs had
 * started. */
#ifndef SPEX_EXPLORE_ABANDONED_H
#define SPEX_EXPLORE_ABANDONED_H

/* Kills the processes of trials that were under way with this directory and removes it, if it is
 * one of ours. */
void spex_abandoned_clean(const char *directory);

#endif
