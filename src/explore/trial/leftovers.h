/* SPDX-License-Identifier: MIT */
/* Ends processes that a program has left behind. */
#ifndef SPEX_EXPLORE_TRIAL_LEFTOVERS_H
#define SPEX_EXPLORE_TRIAL_LEFTOVERS_H

/* Until spex_leftovers_let_go, orphaned descendants become children of this process
 * (PR_SET_CHILD_SUBREAPER), so that without children nothing is left of any program. The result is
 * the previous setting, for the other call. */
int spex_leftovers_adopt(void);
void spex_leftovers_let_go(int before);

/* Kills every process but this one whose environment holds `variable` ("NAME=value"). This finds
 * daemons too, which have left process group and parent. */
void spex_leftovers_kill(const char *variable);

/* The same for processes that another process may have started, such as a killed explorer. */
void spex_leftovers_kill_anywhere(const char *variable);

#endif
