/* SPDX-License-Identifier: MIT */
/* Messages of the library to the person who runs the program. */
#ifndef SPEX_TEXT_MESSAGE_H
#define SPEX_TEXT_MESSAGE_H

/* Writes one line, "spex: …", to standard error. Formatted as by printf, made printable, and cut to
 * 511 bytes; none where a pipe is full that nobody reads, or a terminal held, after 0.2 s. Any
 * thread, not signal handlers. */
__attribute__((format(printf, 1, 2))) void spex_message(const char *format, ...);

#endif
