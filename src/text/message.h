/* SPDX-License-Identifier: MIT */
/* What a person must know: one line on standard error, "spex: …". */
#ifndef SPEX_TEXT_MESSAGE_H
#define SPEX_TEXT_MESSAGE_H

__attribute__((format(printf, 1, 2))) void spex_message(const char *format, ...);

#endif
