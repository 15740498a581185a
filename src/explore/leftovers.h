/* SPDX-License-Identifier: MIT */
/* Processes that a program has left behind. */
#ifndef SPEX_LEFTOVERS_H
#define SPEX_LEFTOVERS_H

/* Kills every process whose environment holds `variable` ("NAME=value"), wherever it has gone:
 * one that left its process group and its parent (a daemon) is found by what it inherited. Not
 * this one. */
void spex_leftovers_kill(const char *variable);

#endif
