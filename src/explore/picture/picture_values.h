/* SPDX-License-Identifier: MIT */
/* Values of pictures in SVG that are told when somebody points at them, by elements alone: a page that
 * forbids scripts shows them, too. */
#ifndef SPEX_EXPLORE_PICTURE_PICTURE_VALUES_H
#define SPEX_EXPLORE_PICTURE_PICTURE_VALUES_H

#include "explore/picture/picture.h"

/* Begins a block of values, which must have a name of its own in the picture; ends it, and plots it, with
 * squares of so many pixels to point at: to be written behind other parts of the command `plot`. A PNG has
 * none. */
void spex_script_values_begin(const struct spex_script *script, const char *name, size_t number);
void spex_script_values_end(const struct spex_script *script);
void spex_script_values_plot(const struct spex_script *script, const char *name, size_t number,
                             double pixels);

/* For a point of a line. */
#define SPEX_VALUE_PIXELS 14.0

/* What is told of the point (x, y) of the block. */
void spex_script_value(const struct spex_script *script, double x, double y, const char *text);

/* The SVG, in which gnuplot has marked values as its own script needs them, with elements that tell them:
 * a title, which is shown beside a pointer, and with `notes` a text of the class "note", for the style of
 * a page. To be freed; NULL: out of memory. */
char *spex_picture_values(const char *svg, bool notes);

#endif
