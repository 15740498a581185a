/* SPDX-License-Identifier: MIT */
/* Messages of commands to standard error, and errors of their output. */
#include "tools/common/complain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "text/printable.h"

/* The status is only returned, for `return spex_complain(…)`. */
int spex_complain(int status, const char *format, ...) {
    char line[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    spex_make_printable(line);
    fprintf(stderr, "spex: %s\n", line);
    return status;
}

void spex_repeated_end(struct spex_repeated *repeated) {
    if (repeated->left_out)
        spex_complain(0, "%s%" PRIu64 " more messages were left out", repeated->who,
                      repeated->left_out);
    repeated->said = 0;
    repeated->left_out = 0;
}

void spex_repeated_look(struct spex_repeated *repeated, uint64_t now_ns) {
    if (now_ns - repeated->since_ns >= SPEX_REPEATED_NS)
        spex_repeated_end(repeated);
}

void spex_repeated_complain(struct spex_repeated *repeated, const char *text, uint64_t now_ns) {
    spex_repeated_look(repeated, now_ns);
    if (strcmp(repeated->last.text, text) == 0)
        return;
    spex_error_set(&repeated->last, "%s", text);
    if (!repeated->said)
        repeated->since_ns = now_ns;
    if (repeated->said == SPEX_REPEATED_MOST) {
        repeated->left_out++;
        return;
    }
    repeated->said++;
    spex_complain(0, "%s%s", repeated->who, text);
}

/* fflush may succeed after an earlier write has failed, so that ferror is asked as well. It does
 * not keep errno: the reason, such as a full disk, is that of one more write. What it adds, where
 * it succeeds, is behind output that is incomplete anyway. */
int spex_written(FILE *out) {
    errno = 0;
    bool failed = ferror(out) && fputc('\n', out) != EOF;
    if (fflush(out) != 0 || failed || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}

int spex_help_written(void) {
    int err = spex_written(stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "the help cannot be written: %s", strerror(-err))
               : SPEX_EXIT_OK;
}
