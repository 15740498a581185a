/* SPDX-License-Identifier: MIT */
/* Pictures, drawn by gnuplot, or graphs by Graphviz, from scripts that others write. */
#ifndef SPEX_EXPLORE_PICTURE_PICTURE_H
#define SPEX_EXPLORE_PICTURE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "text/error.h"

/* A script as it is being written. */
struct spex_script {
    FILE *out;
    const char *name; /* of the picture: what is defined in an SVG is called after it */
    bool png;
};

/* Begins the script: the form and size of the picture, in pixels. */
void spex_script_terminal(const struct spex_script *script, size_t width, size_t height);

/* A text within single quotes, where gnuplot takes everything as it is: without the quotes. */
void spex_script_text(const struct spex_script *script, const char *text);

/* Writes a picture's script. 0, or a negative errno value and why. */
typedef int spex_drawing(const void *subject, struct spex_script *script, struct spex_error *error);

struct spex_picture {
    const char *name;
    bool graph; /* the script is for Graphviz's dot */
    spex_drawing *draw;
    const void *subject;
};

/* A file, which appears under its name when it is whole: PNG if it ends in .png, else SVG. 0;
 * -ENOENT without the program that draws it; or what else went wrong. */
int spex_picture_file(const struct spex_picture *picture, const char *path,
                      struct spex_error *error);

/* The text of an SVG element, to be freed. */
int spex_picture_svg(const struct spex_picture *picture, char **svg, struct spex_error *error);

#endif
