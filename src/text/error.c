/* SPDX-License-Identifier: MIT */
#include "text/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/plain_numbers.h"
#include "text/printable.h"

void spex_error_set(struct spex_error *error, const char *format, ...) {
    SPEX_PLAIN_NUMBERS;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    spex_make_printable(error->text);
}
