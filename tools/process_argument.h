/* SPDX-License-Identifier: MIT */
/* A process's number, as a user gives it. */
#ifndef SPEX_PROCESS_ARGUMENT_H
#define SPEX_PROCESS_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* Digits, and nothing else. */
bool spex_is_number(const char *text);

/* SPEX_EXIT_OK, or another status after having said what is wrong; `command` is told with it. */
int spex_process_argument(const char *command, const char *text, pid_t *process);

#endif
