/* SPDX-License-Identifier: MIT */
/* Messages of the library to the person who runs the program. */
#ifndef SPEX_TEXT_MESSAGE_H
#define SPEX_TEXT_MESSAGE_H

/* Writes one line, "spex: …", to standard error. Formatted as by printf, made printable, and cut to
 * 511 bytes. Any thread, not signal handlers. */
__attribute__((format(printf, 1, 2))) void spex_message(const char *format, ...);

#endif
