/* SPDX-License-Identifier: MIT */
/* Messages of the library to the person who runs the program. */
#ifndef SPEX_TEXT_MESSAGE_H
#define SPEX_TEXT_MESSAGE_H

#include <stdbool.h>

/* Writes one line, "spex: …", to standard error. Formatted as by printf, made printable, and cut to
 * 511 bytes; none where a pipe is full that nobody reads, or a terminal held, after 0.2 s. Any
 * thread, not signal handlers. */
__attribute__((format(printf, 1, 2))) void spex_message(const char *format, ...);

/* Whether the descriptor is a standard stream to which the library may write: the file that it was
 * when the library was loaded; or another one to which the program has plainly moved its output,
 * which is kept over exec, and is its terminal, a pipe, a local socket, or a file that is appended to. Another file is the program's data. */
bool spex_standard_is_open(int number);

#endif
