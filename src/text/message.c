/* SPDX-License-Identifier: MIT */
/* Writes each line by one call of fprintf, so that lines of several threads do not mix. */
#include "text/message.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <spex/atomic.h>

#include "text/plain_numbers.h"
#include "text/printable.h"
#include "text/write_signals.h"

/* How long the reader of a pipe, or a terminal that is held, may keep the program waiting until it
 * is written to no more; each later line is written if there is room. */
enum { READER_MS = 200 };

/* Whether standard error takes a line. The program must not wait for who reads it. */
static bool has_room(void) {
    static int wait_ms = READER_MS;
    struct pollfd out = {.fd = fileno(stderr), .events = POLLOUT};
    bool room = out.fd < 0 || poll(&out, 1, spex_load_relaxed(&wait_ms)) != 0;
    spex_store_relaxed(&wait_ms, room ? READER_MS : 0);
    return room;
}

/* Text of other programs may be in the arguments, so control characters are replaced. */
void spex_message(const char *format, ...) {
    struct spex_write_signals signals;
    SPEX_PLAIN_NUMBERS;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    spex_make_printable(line);
    spex_write_signals_hold(&signals);
    if (has_room())
        fprintf(stderr, "spex: %s\n", line);
    spex_write_signals_release(&signals);
}
