/* SPDX-License-Identifier: MIT */
/* Runs a program up to its first instruction, with its libraries mapped and nothing of them executed but what the loader
 * does, and holds it there until it is released. It ends with this process until then. */
#ifndef SPEX_OBSERVE_HELD_LAUNCH_H
#define SPEX_OBSERVE_HELD_LAUNCH_H

#include "observe/launch.h"

/* As spex_launch_program. -ECHILD: it has ended before. */
int spex_launch_held(struct spex_launched *program, char *const *argv, const sigset_t *mask);

/* Lets it go on, untraced. */
void spex_held_release(const struct spex_launched *program);

/* Ends it in place of that, and waits for it. */
void spex_held_kill(const struct spex_launched *program);

#endif
