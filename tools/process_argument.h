/* SPDX-License-Identifier: MIT */
/* Arguments that several commands take: a process's number, a time, probes. */
#ifndef SPEX_PROCESS_ARGUMENT_H
#define SPEX_PROCESS_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* Digits, and nothing else. */
bool spex_is_number(const char *text);

/* SPEX_EXIT_OK, or another status after having said what is wrong; `command` is told with it. */
int spex_process_argument(const char *command, const char *text, pid_t *process);

/* --for: a time of a millisecond to 30 years, in seconds. As above. */
int spex_for_argument(const char *command, const char *text, double *seconds);

/* A budget: a percentage of what `whose` says, "the program's"; the share that it is. As above. */
int spex_budget_argument(const char *command, const char *option, const char *text,
                         const char *whose, double *share);

/* -n: samples an execution. As above. */
int spex_samples_argument(const char *command, const char *text, double *samples);

/* Whether this can be read as a selection of probes, which `origin` gives: "--probes". As above. */
int spex_probes_argument(const char *command, const char *origin, const char *text);

#endif
