/* SPDX-License-Identifier: MIT */
/* Breakpoints that are in a process though nobody has them: the kernel leaves them when who sets them is killed meanwhile. Each
 * costs what a hit costs, until somebody else sets one there and removes it. */
#ifndef SPEX_ATTACH_LEFTOVERS_H
#define SPEX_ATTACH_LEFTOVERS_H

#include "attach/kind.h"
#include "attach/program.h"

/* Removes those of a process, with the last of its sites, none of which is on. Others' breakpoints stay. Returns how many were
 * removed. */
size_t spex_leftovers_remove(const struct spex_program *program,
                             const struct spex_kind_of_site *kind, struct spex_sites *sites);

#endif
