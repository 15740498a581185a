/* SPDX-License-Identifier: MIT */
#include "sizes.h"

#include "random.h"

const char *const mix_names[] = {"small", "mixed", "large", NULL};

struct band {
    uint32_t share; /* of 10,000 requests */
    uint32_t least, most;
};

#define BANDS 5

static const struct band bands[][BANDS] = {
    [MIX_SMALL] = {{4500, 16, 48}, {3500, 48, 128}, {1500, 128, 512}, {500, 512, 2048}},
    [MIX_MIXED] =
        {{4300, 16, 48}, {3000, 48, 128}, {1500, 128, 512}, {900, 512, 4096}, {300, 4096, 32768}},
    [MIX_LARGE] = {{4300, 16, 64},
                   {3700, 64, 512},
                   {1860, 512, 4096},
                   {100, 4096, 65536},
                   {40, 65536, 1048576}},
};

/* Above it a part of what is asked for is tables. */
#define TABLE_LEAST ((size_t)256 << 10)

static size_t within(const struct band *band, uint64_t *random) {
    return band->least + random_below(random, band->most - band->least);
}

struct request sizes_next(enum mix mix, uint64_t *random) {
    const struct band *band = bands[mix];
    uint32_t share = random_below(random, 10000);
    while (share >= band->share)
        share -= band++->share;
    struct request request = {.size = within(band, random)};
    request.zeroed = request.size >= TABLE_LEAST;
    return request;
}
