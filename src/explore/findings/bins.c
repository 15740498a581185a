/* SPDX-License-Identifier: MIT */
/* Bins of a parameter's levels. They are equally wide on the scale by which values have positions
 * (linear or logarithmic), so a bin without a value does not exist and the number of bins may be
 * less than asked for. */
#include "explore/findings/bins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The value as written in the space, or rounded if that is long. */
static void number_text(const struct spex_value *value, char *text, size_t size) {
    if (snprintf(text, size, "%s", value->text) > 6)
        snprintf(text, size, "%.3g", value->number);
}

/* A category is always a bin of its own, so that it has one text. */
void spex_bin_text(const struct spex_bins *bins, size_t bin, char *text, size_t size) {
    const struct spex_value *values = bins->parameter->values;
    size_t first = bins->first[bin], last = bins->first[bin + 1] - 1;
    char from[32], to[32];
    if (!spex_parameter_ordered(bins->parameter)) {
        snprintf(text, size, "%s", values[first].text);
        return;
    }
    number_text(&values[first], from, sizeof(from));
    number_text(&values[last], to, sizeof(to));
    snprintf(text, size, first == last ? "%s" : "%s…%s", from, to);
}

void spex_bin_middle_text(const struct spex_bins *bins, size_t bin, char *text, size_t size) {
    const struct spex_value *values = bins->parameter->values;
    size_t middle = (bins->first[bin] + bins->first[bin + 1] - 1) / 2;
    if (spex_parameter_ordered(bins->parameter))
        number_text(&values[middle], text, size);
    else
        snprintf(text, size, "%s", values[middle].text);
}
