/* SPDX-License-Identifier: MIT */
/* Selections that stand for a program by its name: files in the directory of control sockets. `spex
 * set --follow` writes them, and each process of that name reads its own when it starts spex. */
#ifndef SPEX_WIRE_STANDING_H
#define SPEX_WIRE_STANDING_H

#include "wire/control_format.h"

/* Reads the selection for `program`, whose sockets are in this directory, into memory that the
 * caller frees. 0; or, with *text NULL, -ENOENT: there is none; -EPERM: the file is another user's;
 * or another negative errno value. */
int spex_standing_read(const char *directory, const char *program, char **text);

/* Replaces the selection for `program` in the directory behind a descriptor; NULL removes it. 0 or
 * a negative errno value. */
int spex_standing_write(int directory, const char *program, const char *text);

#endif
