/* SPDX-License-Identifier: MIT */
/* Catches what a test writes to standard error, to look at it and to keep it off the screen. */
#ifndef SPEX_TEST_MESSAGES_H
#define SPEX_TEST_MESSAGES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE *messages_file;
static int messages_saved = -1;

static inline void messages_begin(void) {
    messages_file = tmpfile();
    messages_saved = dup(STDERR_FILENO);
    /* As a log is: spex takes another file for the program's data. */
    if (!messages_file || messages_saved < 0 ||
        fcntl(fileno(messages_file), F_SETFL, O_APPEND) != 0 ||
        dup2(fileno(messages_file), STDERR_FILENO) != STDERR_FILENO)
        abort();
}

/* Everything since messages_begin; valid until the next call. */
static inline const char *messages_end(void) {
    static char text[4096];
    fflush(stderr);
    dup2(messages_saved, STDERR_FILENO);
    close(messages_saved);
    rewind(messages_file);
    text[fread(text, 1, sizeof(text) - 1, messages_file)] = '\0';
    fclose(messages_file);
    return text;
}

#endif
