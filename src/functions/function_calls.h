/* SPDX-License-Identifier: MIT */
/* Whether machine code of this process calls a function directly. */
#ifndef SPEX_FUNCTIONS_FUNCTION_CALLS_H
#define SPEX_FUNCTIONS_FUNCTION_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Somewhere in the `bytes` at `code`, which can be read. On processors that this does not know:
 * true. */
bool spex_function_calls(const unsigned char *code, size_t bytes, uintptr_t target);

#endif
