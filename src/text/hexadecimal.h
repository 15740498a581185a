/* SPDX-License-Identifier: MIT */
#ifndef SPEX_TEXT_HEXADECIMAL_H
#define SPEX_TEXT_HEXADECIMAL_H

#include <stddef.h>

/* Returns bytes as hexadecimal digits, to be freed; NULL: no memory. */
char *spex_hexadecimal(const void *bytes, size_t count);

#endif
