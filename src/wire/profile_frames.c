/* SPDX-License-Identifier: MIT */
#include "wire/profile_frames.h"

#include <string.h>

/* Room for entries in a frame, behind its head. */
#define ENTRIES_BYTES (SPEX_CONTROL_FRAME_BYTES - sizeof(struct spex_control_frame))

_Static_assert(sizeof(struct spex_control_values) +
                       SPEX_HISTOGRAM_BUCKETS * sizeof(struct spex_control_bucket) <=
                   ENTRIES_BYTES,
               "a histogram fits into a frame");
_Static_assert(SPEX_VARIANCE_ROWS * sizeof(struct spex_control_spread) <= ENTRIES_BYTES,
               "so do the rows of a spread");

size_t spex_frame_finish(char *frame, struct spex_control_frame *head) {
    head->magic = SPEX_CONTROL_MAGIC;
    head->version = SPEX_CONTROL_VERSION;
    memcpy(frame, head, sizeof(*head));
    return (size_t)spex_frame_bytes(head);
}

/* The buckets behind the last one that is not empty, most of them, are not read. */
static size_t write_buckets(const struct spex_histogram *histogram, char *at) {
    uint64_t left = histogram->total;
    size_t count = 0;
    for (unsigned b = 0; left && (b = spex_histogram_next(histogram, b)) < SPEX_HISTOGRAM_BUCKETS;
         b++) {
        struct spex_control_bucket bucket = {b, histogram->weights[b]};
        memcpy(at + count++ * sizeof(bucket), &bucket, sizeof(bucket));
        left -= bucket.weight;
    }
    return count;
}

size_t spex_frame_values(const struct spex_values *values, unsigned series, uint32_t number,
                         char frame[SPEX_CONTROL_FRAME_BYTES]) {
    struct spex_variance_sums sums = spex_variance_sums(&values->spread);
    struct spex_control_values told = {.series = series,
                                       .scale = values->spread.scale,
                                       .weight = values->weight,
                                       .mean = values->mean,
                                       .squares = values->squares,
                                       .min = values->min,
                                       .max = values->max,
                                       .origin = values->spread.origin,
                                       .distances = sums.distances,
                                       .products = sums.products,
                                       .weights = sums.weights,
                                       .weights_all = sums.weights_all,
                                       .squared = sums.squares,
                                       .local = sums.local,
                                       .left_out = values->left_out,
                                       .blocks = sums.blocks};
    char *at = frame + sizeof(struct spex_control_frame);
    memcpy(at, &told, sizeof(told));
    size_t count = write_buckets(&values->histogram, at + sizeof(told));
    struct spex_control_frame head = {.kind = SPEX_CONTROL_VALUES,
                                      .number = number,
                                      .entry_bytes = sizeof(told),
                                      .count = (uint32_t)count};
    return spex_frame_finish(frame, &head);
}

/* Most are. */
static bool row_empty(const float *row) {
    uint64_t pairs[SPEX_VARIANCE_WAYS / 2], any = 0;
    memcpy(pairs, row, sizeof(pairs));
    for (unsigned p = 0; p < SPEX_VARIANCE_WAYS / 2; p++)
        any |= pairs[p];
    return !any;
}

size_t spex_frame_spread(const struct spex_variance *spread, unsigned series, uint32_t number,
                         char frame[SPEX_CONTROL_FRAME_BYTES]) {
    struct spex_control_spread entry = {.series = series};
    char *at = frame + sizeof(struct spex_control_frame);
    uint32_t count = 0;
    for (entry.row = 0; entry.row < SPEX_VARIANCE_ROWS; entry.row++) {
        if (row_empty(spread->rows[entry.row]))
            continue;
        memcpy(entry.ways, spread->rows[entry.row], sizeof(entry.ways));
        memcpy(at + count++ * sizeof(entry), &entry, sizeof(entry));
    }
    struct spex_control_frame head = {.kind = SPEX_CONTROL_SPREAD,
                                      .number = number,
                                      .entry_bytes = sizeof(entry),
                                      .count = count};
    return count ? spex_frame_finish(frame, &head) : 0;
}
