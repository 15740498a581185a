/* SPDX-License-Identifier: MIT */
/* What a program writes: shown to who takes it, its end kept for messages. */
#include "explore/trial/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text/printable.h"

/* Keeps the last SPEX_OUTPUT_TAIL_BYTES of the output. */
static void tail_append(struct spex_program *program, const char *text, size_t length) {
    if (length > sizeof(program->tail)) {
        text += length - sizeof(program->tail);
        length = sizeof(program->tail);
    }
    size_t keep = sizeof(program->tail) - length;
    if (keep > program->tail_length)
        keep = program->tail_length;
    memmove(program->tail, program->tail + program->tail_length - keep, keep);
    memcpy(program->tail + keep, text, length);
    program->tail_length = keep + length;
}

/* Reads a bounded amount, so that a program that writes without end cannot occupy this thread.
 * `shown`: to who takes the output. */
static void read_output(struct spex_program *program, int *from, bool shown) {
    char text[4096];
    for (int reads = 0; reads < 16 && *from >= 0; reads++) {
        ssize_t got = read(*from, text, sizeof(text));
        if (got > 0) {
            tail_append(program, text, (size_t)got);
            if (shown)
                program->take(program->user, text, (size_t)got);
        } else if (got == 0) {
            close(*from);
            *from = -1;
        } else if (errno != EINTR) {
            return;
        }
    }
}

void spex_program_output(struct spex_program *program) {
    read_output(program, &program->output, program->take);
    if (program->take)
        read_output(program, &program->errors, false);
}

/* Sets *line to the last line of the output that is not blank; returns its length. The line is not
 * terminated. */
static size_t last_line(const struct spex_program *program, const char **line) {
    size_t end = program->tail_length;
    while (end > 0 && (unsigned char)program->tail[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && program->tail[begin - 1] != '\n')
        begin--;
    *line = program->tail + begin;
    return end - begin;
}

/* The text goes to terminals and stores, and the output in it may be any bytes. */
void spex_program_describe(const struct spex_program *program, char *text, size_t size) {
    const char *line;
    size_t length = last_line(program, &line);
    int used;
    if (!program->ended)
        used = snprintf(text, size, "still running");
    else if (program->by_signal)
        used = snprintf(text, size, "killed by signal %d (%s)", program->status,
                        strsignal(program->status));
    else
        used = snprintf(text, size, "exited with status %d", program->status);
    if (length > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ": %.*s", (int)length, line);
    spex_make_printable(text);
}

void spex_program_last_output(const struct spex_program *program, char *text, size_t size) {
    const char *line;
    size_t length = last_line(program, &line);
    text[0] = '\0';
    if (length > 0)
        snprintf(text, size, "; its last output: %.*s", (int)length, line);
    spex_make_printable(text);
}
