/* SPDX-License-Identifier: MIT */
#ifndef SPEX_PRELOAD_PROGRAM_SYMBOLS_H
#define SPEX_PRELOAD_PROGRAM_SYMBOLS_H

#include <stdbool.h>

/* Whether the loader fills in the symbol for the program itself. Takes the loader's lock. */
bool spex_program_refers(const char *symbol);

#endif
