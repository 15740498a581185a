/* SPDX-License-Identifier: MIT */
#include "tools/common/verdict.h"

#include <stdio.h>
#include <unistd.h>

#include "base/terminal.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "tools/common/complain.h"

static void say(const char *before, const char *text) {
    char line[2048];
    snprintf(line, sizeof(line), "%s%s", before, text);
    spex_make_printable(line);
    spex_print_wrapped(stderr, line, spex_terminal_width(stderr, spex_text_width()));
}

void spex_verdict(const char *result, const char *next) {
    if (isatty(STDERR_FILENO) != 1) {
        spex_complain(SPEX_EXIT_OK, "%s", result);
        return;
    }
    say("spex: ", result);
    if (next)
        say("next: ", next);
}

const char *spex_elapsed_text(double seconds, char *text, size_t size) {
    unsigned long whole = (unsigned long)(seconds + 0.5);
    if (seconds < 59.5)
        return spex_quantity_digits(seconds, 3, false, "s", text, size);
    if (whole < 3600)
        snprintf(text, size, "%lu:%02lu", whole / 60, whole % 60);
    else
        snprintf(text, size, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}
