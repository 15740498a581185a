/* SPDX-License-Identifier: MIT */
/* Which processes the operands of the command name: by number, by that of the process that has
 * started them, or by name. */
#ifndef SPEX_TOOLS_ATTACH_WANTED_H
#define SPEX_TOOLS_ATTACH_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spex_wanted {
    /* Numbers and names, as the user has typed them; none: all processes are wanted. */
    char *const *list;
    size_t count;
};

/* SPEX_EXIT_OK, or another status after a message: a number is none of a process. */
int spex_wanted_check(const char *command, const struct spex_wanted *wanted);

bool spex_wanted_has(const struct spex_wanted *wanted, pid_t process);

/* Whether that is the process's name, as far as the kernel keeps it. */
bool spex_wanted_is_called(const char *name, pid_t process);

#endif
