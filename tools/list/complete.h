/* SPDX-License-Identifier: MIT */
/* What may stand in the place of a word that is being typed, for completion in shells. */
#ifndef SPEX_TOOLS_LIST_COMPLETE_H
#define SPEX_TOOLS_LIST_COMPLETE_H

/* Prints, each on a line, what begins as the last of the words that follow a command and that the
 * command may take there, but for options: running programs, and the probes of one. Nothing where
 * the command takes a file or what only the user knows. */
void spex_complete_operand(const char *command, int count, char *const *words);

#endif
