/* SPDX-License-Identifier: MIT */
/* Bins of a parameter's levels. They are equally wide on the scale by which values have positions
 * (linear or logarithmic), so a bin without a value does not exist and the number of bins may be
 * less than asked for. */
#include "explore/findings/bins.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/summary.h"
#include "text/quantity.h"

/* Characters of a number that is not rounded. */
#define SHOWN_MOST 8

/* The part of the scale, of `most` equal ones, in which the level lies. */
static size_t part_of(const struct spex_parameter *parameter, size_t level, size_t most) {
    /* A value on a boundary belongs to the part above it, even if its position was rounded down. */
    size_t part = (size_t)(parameter->values[level].position * (double)most + 1e-9);
    return part < most ? part : most - 1;
}

/* Levels ascend, so each bin is a range of levels; O(levels). */
int spex_bins_init(struct spex_bins *bins, const struct spex_parameter *parameter, size_t most) {
    bool each = !spex_parameter_ordered(parameter) || parameter->count <= most;
    *bins = (struct spex_bins){.parameter = parameter};
    bins->of_level = calloc(parameter->count, sizeof(size_t));
    bins->first = calloc(parameter->count + 1, sizeof(size_t));
    if (!bins->of_level || !bins->first) {
        spex_bins_free(bins);
        return -ENOMEM;
    }
    for (size_t l = 0; l < parameter->count; l++) {
        if (l == 0 || each || part_of(parameter, l, most) != part_of(parameter, l - 1, most))
            bins->first[bins->count++] = l;
        bins->of_level[l] = bins->count - 1;
    }
    bins->first[bins->count] = parameter->count;
    return 0;
}

void spex_bins_free(struct spex_bins *bins) {
    free(bins->of_level);
    free(bins->first);
    *bins = (struct spex_bins){.count = 0};
}

static size_t last_level(const struct spex_bins *bins, size_t bin) {
    return bins->first[bin + 1] - 1;
}

void spex_bin_plain(const struct spex_bins *bins, size_t bin, char *text, size_t size) {
    const struct spex_value *values = bins->parameter->values;
    size_t first = bins->first[bin], last = last_level(bins, bin);
    snprintf(text, size, "%s%s%s", values[first].text, first == last ? "" : "…",
             first == last ? "" : values[last].text);
}

/* The value as it is shown anywhere, or rounded if that is long. */
static void level_text(const struct spex_parameter *parameter, size_t level, char *text,
                       size_t size) {
    double value = parameter->values[level].number;
    spex_value_shown(parameter, level, text, size);
    if (spex_parameter_ordered(parameter) && strlen(text) > SHOWN_MOST)
        spex_quantity_text(value, NAN, spex_parameter_is_bytes(parameter) ? "B" : "", text, size);
}

/* A category is always a bin of its own, so that it has one text. */
void spex_bin_text(const struct spex_bins *bins, size_t bin, char *text, size_t size) {
    size_t first = bins->first[bin], last = last_level(bins, bin);
    char from[64], to[64];
    level_text(bins->parameter, first, from, sizeof(from));
    level_text(bins->parameter, last, to, sizeof(to));
    snprintf(text, size, "%s%s%s", from, first == last ? "" : "…", first == last ? "" : to);
}

void spex_bin_middle_text(const struct spex_bins *bins, size_t bin, char *text, size_t size) {
    level_text(bins->parameter, (bins->first[bin] + last_level(bins, bin)) / 2, text, size);
}
