/* SPDX-License-Identifier: MIT */
/* Draws pictures by gnuplot, and graphs by Graphviz, from scripts that functions of the caller
 * write. */
#ifndef SPEX_EXPLORE_PICTURE_PICTURE_H
#define SPEX_EXPLORE_PICTURE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "text/error.h"

/* A script that is being written. */
struct spex_script {
    FILE *out;
    const char *name; /* name of the picture: prefix of the ids in an SVG */
    bool png;
};

/* Writes the beginning of a script: format and size in pixels. */
void spex_script_terminal(const struct spex_script *script, size_t width, size_t height);

/* Writes a text for use within single quotes, where gnuplot interprets nothing; the quotes are the
 * caller's. */
void spex_script_text(const struct spex_script *script, const char *text);

/* Writes a picture's script. 0; or a negative errno value with the reason in `error`. */
typedef int spex_drawing(const void *subject, struct spex_script *script, struct spex_error *error);

struct spex_picture {
    const char *name;
    bool graph; /* the script is for Graphviz's dot */
    spex_drawing *draw;
    const void *subject;
};

/* Draws into a file, which appears under its name when it is complete: PNG if the name ends in
 * .png, else SVG. 0; -ENOENT when the drawing program is not installed; or another negative errno
 * value. */
int spex_picture_file(const struct spex_picture *picture, const char *path,
                      struct spex_error *error);

/* Sets *svg to the text of an SVG element, to be freed. */
int spex_picture_svg(const struct spex_picture *picture, char **svg, struct spex_error *error);

/* The style of a page for the values that such an SVG tells (picture_values.h): notes are shown where somebody
 * points, touches, or goes by keyboard. */
#define SPEX_PICTURE_VALUES_STYLE                                                                  \
    ".value{outline:0}.value .note{visibility:hidden;pointer-events:none;font:600 16px "           \
    "sans-serif;"                                                                                  \
    "fill:#1c2430;stroke:#fff;stroke-width:5px;stroke-linejoin:round;paint-order:stroke}\n"        \
    ".value:hover .note,.value:focus .note{visibility:visible}"                                    \
    ".value:hover use,.value:focus use{opacity:.35;color:#fff}\n"

#endif
