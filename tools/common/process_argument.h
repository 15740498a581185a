/* SPDX-License-Identifier: MIT */
/* Arguments of several commands that are more than text or a number: processes and probes. */
#ifndef SPEX_TOOLS_COMMON_PROCESS_ARGUMENT_H
#define SPEX_TOOLS_COMMON_PROCESS_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* Digits alone. */
bool spex_is_number(const char *text);

/* Say that running programs cannot be looked for, by a negative errno value; and that there is none
 * of this name, or, with NULL, none at all. SPEX_EXIT_FAILED. */
int spex_complain_of_looking(long err);
int spex_complain_of_no_program(const char *name);

/* SPEX_EXIT_OK, or another status after a message that begins with the name of the command. */
int spex_process_argument(const char *command, const char *text, pid_t *process);

/* Checks that `text` is a selection of probes. `origin` is the option or variable that has it.
 * Status as above. */
int spex_probes_argument(const char *command, const char *origin, const char *text);

/* Whether it is no selection of probes, but chooses functions of any program: "func:malloc", "usdt:libc:*". A probe may be
 * called "func". */
bool spex_names_functions(const char *text);

/* Of a command that starts a program: *probes is what -e says, or NULL. Sets it to SPEX_PROBES, or
 * to all probes, where -e is absent. What the library would refuse is refused before the program
 * starts. Status as above. */
int spex_probes_chosen(const char *command, const char **probes);

#endif
