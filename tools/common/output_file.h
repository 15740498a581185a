/* SPDX-License-Identifier: MIT */
/* The file of a command's option -o: a document, which replaces the file at the end, or lines,
 * which readers can follow. */
#ifndef SPEX_TOOLS_COMMON_OUTPUT_FILE_H
#define SPEX_TOOLS_COMMON_OUTPUT_FILE_H

#include <stdio.h>

struct spex_output_file {
    /* Where to write. */
    FILE *file;
    /* For messages. */
    const char *name;
    /* A document is in memory until it is closed. NULL: it is written as it comes. */
    char *text;
    size_t size;
    /* Of a document. NULL: closing writes nothing, as after an error. */
    const char *path;
};

enum spex_output_kind { SPEX_OUTPUT_DOCUMENT, SPEX_OUTPUT_LINES };

/* `path`: a file; "-": standard output; NULL: the stream `otherwise`, standard output or error. A
 * path that cannot be written to is an error already here. 0 or a negative errno value. */
int spex_output_file_open(struct spex_output_file *output, const char *path,
                          enum spex_output_kind kind, FILE *otherwise);

/* Ends the output. 0 or a negative errno value: not all has been written, and of a document
 * nothing. */
int spex_output_file_close(struct spex_output_file *output);

#endif
