/* SPDX-License-Identifier: MIT */
/* A table of measurements as a space in which there is nothing but its rows. */
#ifndef SPEX_BENCH_RECORDING_H
#define SPEX_BENCH_RECORDING_H

#include "explore/space/space.h"
#include "policies/explore/draw.h"

struct recording {
    char *name;
    struct spex_space_file *file;
    double *figures; /* of each configuration, as a loss above 0 */
    double least;
    size_t rows; /* configurations */
    /* All rows, with the configuration of each. */
    struct measurement {
        size_t configuration;
        double figure;
    } * measurements;
    size_t measurement_count;
};

/* Ends the process where the table is wrong. With `repeats` the truth of a configuration is the mean
 * of its rows, else the first of them; with `maximise` losses are the figures' inverses. */
void recording_read(struct recording *recording, const char *path, bool repeats, bool maximise);
void recording_free(struct recording *recording);

/* The number of a configuration. */
size_t recording_row(const struct recording *recording, const size_t *levels);

/* The figure of one of the rows of a configuration. */
double recording_draw(const struct recording *recording, size_t row, struct spex_draw *draw);

#endif
