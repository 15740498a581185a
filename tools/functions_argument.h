/* SPDX-License-Identifier: MIT */
/* --functions of commands that start a program. */
#ifndef SPEX_FUNCTIONS_ARGUMENT_H
#define SPEX_FUNCTIONS_ARGUMENT_H

/* Puts it into the environment that programs get from here on. 0, or the status after a complaint. */
int spex_functions_argument(const char *command, const char *filter);

#endif
