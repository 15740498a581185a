/* SPDX-License-Identifier: MIT */
/* Cleans up after an explorer that was killed: its directory, and the processes that its programs
 * have started. */
#ifndef SPEX_EXPLORE_ABANDONED_H
#define SPEX_EXPLORE_ABANDONED_H

/* Kills the processes of trials that ran with this directory and removes it. Does nothing when the
 * directory is not one that spex has made for this user. */
void spex_abandoned_clean(const char *directory);

#endif
