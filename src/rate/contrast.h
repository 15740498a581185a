/* SPDX-License-Identifier: MIT */
/* What something costs that is on in some parts of the time and not in others: by how much longer
 * the program takes for the same work. Pure. */
#ifndef SPEX_RATE_CONTRAST_H
#define SPEX_RATE_CONTRAST_H

#include <stdbool.h>

enum { SPEX_RATE_FIGURES = 20 };

/* A part of the time in which all was alike. */
struct spex_rate_part {
    double seconds; /* CPU time of the program */
    double units;   /* of work that it did */
    double cost;    /* seconds that the calibrated costs come to */
};

struct spex_rate_finding {
    double factor; /* of what was calibrated */
    double error;  /* its standard error; INFINITY: nothing is known */
};

/* All zero: nothing is known. */
struct spex_rate_contrast {
    /* The last parts without it and with it, each a unit of work; `seconds` 0: none. */
    struct spex_rate_part without, with;
    /* By how many times more than calibrated, part by part: the latest ones, and how many there
     * were. */
    double figures[SPEX_RATE_FIGURES];
    unsigned count;
    /* Sums over former figures, weighted by their precision. */
    double weight, sum;
    /* What follows from all of them; `error` 0: nothing yet. */
    struct spex_rate_finding found;
};

/* Takes in a part, and makes a figure of one with it between two without it. What goes on after a
 * part of 0 seconds or units has nothing to do with what was before. */
void spex_rate_contrast_add(struct spex_rate_contrast *contrast, bool with,
                            struct spex_rate_part part);

struct spex_rate_finding spex_rate_contrast_finding(const struct spex_rate_contrast *contrast);

#endif
