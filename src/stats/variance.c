/* SPDX-License-Identifier: MIT */
/* Runs for every recorded value, so it avoids branches that depend on random numbers and adds four
 * copies at a time with vector instructions, which gcc and clang make of the vector types on every
 * processor. variance.h tells the method. */
#include "stats/variance.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <spex/compiler.h>

/* 32 random signs, by splitmix64. */
static uint32_t signs_next(struct spex_variance *spread) {
    uint64_t x = spread->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

/* Empties the unit, which keeps the mean and the weight of the unit before it. */
static void unit_begin(struct spex_variance *spread, struct spex_variance_unit *unit,
                       double factor) {
    *unit = (struct spex_variance_unit){.factor = factor,
                                        .amplitude = sqrt(factor),
                                        .signs = signs_next(spread),
                                        .former_mean = unit->former_mean,
                                        .former_weight = unit->former_weight};
}

/* Whether the unit before is long enough for a comparison of the means: at least half as heavy. */
static bool has_neighbour(const struct spex_variance_unit *unit) {
    return unit->former_weight * 2 >= unit->weight;
}

/* Adds a unit's contribution to the sums. A unit with a neighbour adds its difference from it to
 * `local`; another adds to the sums for a ratio estimate. */
__attribute__((noinline)) static void sums_add(struct spex_variance_sums *sums,
                                               const struct spex_variance_unit *unit) {
    double weights = unit->factor * unit->weight * unit->weight;
    if (!(weights > 0))
        return;
    sums->weights_all += weights;
    sums->squares += weights * weights;
    if (has_neighbour(unit)) {
        double difference = unit->distance / unit->weight - unit->former_mean;
        sums->local += weights * difference * difference / 2;
        return;
    }
    sums->distances += unit->factor * unit->distance * unit->distance;
    sums->products += unit->factor * unit->distance * unit->weight;
    sums->weights += weights;
}

/* Adds the unit to the sums and remembers its mean and weight for the next one, whose neighbour
 * it is. Nothing happens where no record was added to it. Not inlined, since it runs once in many
 * records and stands in four places. */
__attribute__((noinline)) static void unit_end(struct spex_variance *spread,
                                               struct spex_variance_unit *unit) {
    if (!(unit->weight > 0))
        return;
    sums_add(&spread->sums, unit);
    *unit = (struct spex_variance_unit){.former_mean = unit->distance / unit->weight,
                                        .former_weight = unit->weight};
}

typedef uint32_t words __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16)));

/* Adds `up` with the unit's sign to each copy. The signs are random, so that a branch would be
 * mispredicted half of the time: the sign bit is flipped instead, in four copies at a time. */
static void row_add(float *row, uint32_t signs, float up) {
    const floats ups = {up, up, up, up};
    const words minus = {1u << 31, 1u << 31, 1u << 31, 1u << 31};
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way += 4, signs >>= 4) {
        const words all = {signs << 31, signs << 30, signs << 29, signs << 28};
        const words changes = (words)ups ^ (all & minus);
        floats four;
        memcpy(&four, row + way, sizeof(four));
        four += (floats)changes;
        memcpy(row + way, &four, sizeof(four));
    }
}

#define ROWS_OF_BIT 8
_Static_assert(SPEX_VARIANCE_ROWS <= 64 * ROWS_OF_BIT, "there is a bit for each row");

/* A page of which nothing has been written yet is read by row_add first. The kernel would map a
 * page of zeros, and with the write that follows replace it, for which it interrupts other CPUs:
 * 10 µs in a virtual machine. So the first access is a write. */
static float *row_of(struct spex_variance *spread, double value) {
    unsigned row = spex_variance_row(spex_value_scale_bucket(spread->scale, value));
    uint64_t bit = UINT64_C(1) << row / ROWS_OF_BIT;
    if (SPEX_UNLIKELY(!(spread->written & bit))) {
        memset(spread->rows[row], 0, sizeof(spread->rows[row]));
        spread->written |= bit;
    }
    return spread->rows[row];
}

/* Adds a value to the unit, and to the row of the value. A unit with factor 0 was recorded with
 * certainty and has no variance. */
static void unit_add(struct spex_variance *spread, struct spex_variance_unit *unit, double value,
                     double weight) {
    unit->distance += weight * (value - spread->origin);
    unit->weight += weight;
    if (!(unit->factor > 0))
        return;
    row_add(row_of(spread, value), unit->signs, (float)(weight * unit->amplitude));
}

void spex_variance_stretch(struct spex_variance *spread, uint32_t number, double scale) {
    if (number == spread->number)
        return;
    unit_end(spread, &spread->stretch);
    if (number) {
        unit_end(spread, &spread->burst); /* the rest of the burst was lost */
        unit_begin(spread, &spread->stretch, scale * (scale - 1));
    }
    spread->number = number;
}

void spex_block_sums_add(struct spex_block_sums *to, const struct spex_block_sums *more, double by,
                         double factor) {
    to->distances += factor * (more->distances + by * (2 * more->products + by * more->squares));
    to->products += factor * (more->products + by * more->squares);
    to->squares += factor * more->squares;
    to->weights += factor * more->weights;
}

static void block_add(struct spex_block_sums *sums, const struct spex_variance_block *block) {
    const struct spex_block_sums one = {block->distance * block->distance,
                                        block->distance * block->weight,
                                        block->weight * block->weight, block->weight};
    spex_block_sums_add(sums, &one, 0, 1);
}

void spex_variance_block(struct spex_variance *spread, uint64_t number) {
    if (number == spread->block.number)
        return;
    block_add(&spread->sums.blocks, &spread->block);
    spread->block = (struct spex_variance_block){.number = number};
}

/* The factor f of a unit of records of this weight, each scaled up by `scale` for losses. */
static double factor_of(uint32_t weight, double scale) {
    return scale * (1 - 1.0 / weight);
}

/* An execution outside of bursts ends the burst that runs. It is a unit of its own, unless it
 * stands for itself alone and so was recorded with certainty. */
void spex_variance_single(struct spex_variance *spread, double value, uint32_t weight,
                          double scale) {
    if (spread->burst.weight > 0)
        unit_end(spread, &spread->burst);
    if (spread->number)
        unit_add(spread, &spread->stretch, value, weight);
    if (weight == 1)
        return;
    struct spex_variance_unit unit = {0};
    unit_begin(spread, &unit, factor_of(weight, scale));
    unit_add(spread, &unit, value, weight);
    sums_add(&spread->sums, &unit);
}

/* A burst whose first record was lost begins with the first one that is there. */
void spex_variance_in_burst(struct spex_variance *spread, double value, uint32_t weight,
                            double scale, bool first) {
    if (first || !(spread->burst.weight > 0)) {
        unit_end(spread, &spread->burst);
        unit_begin(spread, &spread->burst, factor_of(weight, scale));
    }
    if (spread->number)
        unit_add(spread, &spread->stretch, value, weight);
    unit_add(spread, &spread->burst, value, weight);
}

void spex_variance_copy(struct spex_variance *empty, const struct spex_variance *from) {
    const size_t sums = offsetof(struct spex_variance, origin);
    memcpy((char *)empty + sums, (const char *)from + sums, sizeof(*from) - sums);
    for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row++)
        if (from->written >> row / ROWS_OF_BIT & 1)
            memcpy(empty->rows[row], from->rows[row], sizeof(from->rows[row]));
}

/* Adds the units that run to a copy, so that they may still grow. */
struct spex_variance_sums spex_variance_sums(const struct spex_variance *spread) {
    struct spex_variance_sums sums = spread->sums;
    sums_add(&sums, &spread->burst);
    sums_add(&sums, &spread->stretch);
    block_add(&sums.blocks, &spread->block);
    return sums;
}

/* Units that still ran are closed on both sides first. */
SPEX_COLD void spex_variance_subtract(struct spex_variance *spread,
                                      const struct spex_variance *before) {
    struct spex_variance_sums former = spex_variance_sums(before);
    spread->sums = spex_variance_sums(spread);
    spread->burst = spread->stretch = (struct spex_variance_unit){0};
    spread->block = (struct spex_variance_block){.number = spread->block.number};
    spex_block_sums_add(&spread->sums.blocks, &former.blocks, 0, -1);
    spread->sums.distances -= former.distances;
    spread->sums.products -= former.products;
    spread->sums.weights -= former.weights;
    spread->sums.weights_all -= former.weights_all;
    spread->sums.squares -= former.squares;
    spread->sums.local -= former.local;
    spex_variance_rows_add(spread, before, -1);
}

/* By the first value of a row: of the natural scale, whose rows are not wider. */
unsigned spex_variance_row_from(unsigned scale, unsigned from, unsigned row) {
    return from == scale ? row
                         : spex_variance_row(spex_value_scale_bucket_from(
                               scale, from, spex_variance_bucket(row)));
}

void spex_variance_rows_add(struct spex_variance *spread, const struct spex_variance *more,
                            float factor) {
    for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row++) {
        float *to = spread->rows[spex_variance_row_from(spread->scale, more->scale, row)];
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            to[way] += factor * more->rows[row][way];
    }
}

/* Rows that nothing was added to stay without a page no more: few probes have such values. */
SPEX_COLD void spex_variance_widen(struct spex_variance *spread, unsigned scale) {
    unsigned from = spread->scale;
    if (scale <= from)
        return;
    spread->scale = scale;
    if (from != SPEX_SCALE_NATURAL)
        return;
    float rows[SPEX_VARIANCE_ROWS][SPEX_VARIANCE_WAYS];
    memcpy(rows, spread->rows, sizeof(rows));
    memset(spread->rows, 0, sizeof(spread->rows));
    spread->written = UINT64_MAX;
    for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row++)
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            spread->rows[spex_variance_row_from(scale, from, row)][way] += rows[row][way];
}

/* Each copy gives A - share × T with random signs of the units, whose square has the wanted
 * variance as its expectation. The mean over copies is less uncertain. */
double spex_variance_above(const struct spex_variance *spread, unsigned row, double share) {
    double squares = 0;
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++) {
        double above = 0, all = 0;
        for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++) {
            all += (double)spread->rows[r][way];
            above += r >= row ? (double)spread->rows[r][way] : 0;
        }
        squares += (above - share * all) * (above - share * all);
    }
    return squares / SPEX_VARIANCE_WAYS;
}
