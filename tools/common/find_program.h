/* SPDX-License-Identifier: MIT */
#ifndef SPEX_TOOLS_COMMON_FIND_PROGRAM_H
#define SPEX_TOOLS_COMMON_FIND_PROGRAM_H

/* The path of the program that a shell would run, or of a file in the current directory. Free
 * it; NULL when there is none, or memory is short. */
char *spex_find_program(const char *name);

#endif
