/* SPDX-License-Identifier: MIT */
/* A process's number and a time, as a user gives them. */
#ifndef SPEX_PROCESS_ARGUMENT_H
#define SPEX_PROCESS_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* Digits, and nothing else. */
bool spex_is_number(const char *text);

/* SPEX_EXIT_OK, or another status after having said what is wrong; `command` is told with it. */
int spex_process_argument(const char *command, const char *text, pid_t *process);

/* A time of a millisecond to 30 years, in seconds. 0: it is none. */
double spex_seconds_argument(const char *text);

#endif
