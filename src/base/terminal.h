/* SPDX-License-Identifier: MIT */
/* The width of texts, in characters. */
#ifndef SPEX_BASE_TERMINAL_H
#define SPEX_BASE_TERMINAL_H

#include <stdio.h>

/* The width where there is no terminal: COLUMNS of the environment, else 80; at least
 * SPEX_WIDTH_LEAST. Set-user-ID programs do not read COLUMNS. */
unsigned spex_text_width(void);

enum { SPEX_WIDTH_LEAST = 20 };

/* The width of a stream's terminal. Returns `otherwise` where the stream is no terminal, or the
 * terminal does not know its width, as on a serial line. */
unsigned spex_terminal_width(FILE *file, unsigned otherwise);

#endif
