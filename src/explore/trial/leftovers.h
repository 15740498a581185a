/* SPDX-License-Identifier: MIT */
/* Processes that a program has left behind. */
#ifndef SPEX_EXPLORE_TRIAL_LEFTOVERS_H
#define SPEX_EXPLORE_TRIAL_LEFTOVERS_H

/* From here to spex_leftovers_let_go, processes whose parents end become children of this one: so
 * that without a child there is nothing left of any program. What prctl said before is for the
 * other call. */
int spex_leftovers_adopt(void);
void spex_leftovers_let_go(int before);

/* Kills every process whose environment holds `variable` ("NAME=value"), wherever it has gone:
 * one that left its process group and its parent (a daemon) is found by what it inherited. Not
 * this one. */
void spex_leftovers_kill(const char *variable);

/* The same where it may have been another process that started them. */
void spex_leftovers_kill_anywhere(const char *variable);

#endif
