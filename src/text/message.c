/* SPDX-License-Identifier: MIT */
/* Writes each line by one call of fprintf, so that lines of several threads do not mix. */
#include "text/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/printable.h"
#include "text/write_signals.h"

/* Text of other programs may be in the arguments, so control characters are replaced. */
void spex_message(const char *format, ...) {
    struct spex_write_signals signals;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    spex_make_printable(line);
    spex_write_signals_hold(&signals);
    fprintf(stderr, "spex: %s\n", line);
    spex_write_signals_release(&signals);
}
