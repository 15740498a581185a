/* SPDX-License-Identifier: MIT */
/* Recognises direct calls of a function in machine code of this process. */
#ifndef SPEX_KERNELS_FUNCTION_CALLS_H
#define SPEX_KERNELS_FUNCTION_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the `bytes` at `code`, which must be readable, contain a direct call of `target`. On
 * processors other than x86-64 and AArch64 always true: every function counts as instrumented. */
bool spex_function_calls(const unsigned char *code, size_t bytes, uintptr_t target);

#endif
