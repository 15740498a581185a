/* SPDX-License-Identifier: MIT */
/* The option --functions of commands that start a program. */
#ifndef SPEX_TOOLS_COMMON_FUNCTIONS_ARGUMENT_H
#define SPEX_TOOLS_COMMON_FUNCTIONS_ARGUMENT_H

/* Checks the globs, and puts them into the environment of programs that are started from here on.
 * SPEX_EXIT_OK, or another status after a message that begins with the command and `origin`. */
int spex_functions_argument(const char *command, const char *origin, const char *filter);

#endif
