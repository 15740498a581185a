/* SPDX-License-Identifier: MIT */
/* Coordinate ascent: from the best of all corners of the ranges, one parameter at a time moves to the
 * best of its places until none is better. */
#include "model/fit/next.h"

#include <math.h>
#include <string.h>

enum {
    /* Places of each range, its ends among them. */
    PLACES = 65,
    ROUNDS_MAX = 16
};
/* Places of a range that is so wide are at equal ratios. */
#define WIDE 10.0

struct ranges {
    const struct spex_fit *fit;
    const double *low, *high;
};

static double place_of(const struct ranges *ranges, size_t parameter, size_t place) {
    double low = ranges->low[parameter], high = ranges->high[parameter],
           share = (double)place / (PLACES - 1);
    if (place == PLACES - 1)
        return high;
    double value =
        low > 0 && high >= WIDE * low ? low * pow(high / low, share) : low + (high - low) * share;
    return low == floor(low) && high == floor(high) ? round(value) : value;
}

/* Keeps the better of *next and the place of these values. True: it is better. */
static bool place_try(const struct ranges *ranges, const double *values, struct spex_next *next) {
    struct spex_prediction made = spex_fit_predict(ranges->fit, values);
    double share = (made.high - made.low) / 2 / made.value;
    if (!(made.value > 0) || !isfinite(share) || share <= next->share)
        return false;
    *next = (struct spex_next){.seconds = made.value, .share = share};
    memcpy(next->values, values, ranges->fit->model.parameter_count * sizeof(*values));
    return true;
}

static void corners_try(const struct ranges *ranges, struct spex_next *next) {
    size_t count = ranges->fit->model.parameter_count;
    for (size_t corner = 0; corner < (size_t)1 << count; corner++) {
        double values[SPEX_MODEL_PARAMETERS_MAX] = {0};
        for (size_t p = 0; p < count; p++)
            values[p] = corner >> p & 1 ? ranges->high[p] : ranges->low[p];
        place_try(ranges, values, next);
    }
}

/* Moves one parameter. True: there is a better place. */
static bool parameter_move(const struct ranges *ranges, size_t parameter, struct spex_next *next) {
    const struct spex_model *model = &ranges->fit->model;
    double values[SPEX_MODEL_PARAMETERS_MAX];
    bool better = false;
    memcpy(values, next->values, sizeof(values));
    for (size_t place = 0; place < PLACES; place++) {
        values[parameter] = place_of(ranges, parameter, place);
        better |= place_try(ranges, values, next);
    }
    /* The interval of a change may be narrower than the places are apart. */
    for (size_t c = 0; c < model->change_count && parameter == model->change_parameter; c++) {
        values[parameter] = round((model->changes[c].low + model->changes[c].high) / 2);
        if (values[parameter] >= ranges->low[parameter] &&
            values[parameter] <= ranges->high[parameter])
            better |= place_try(ranges, values, next);
    }
    return better;
}

bool spex_fit_next(const struct spex_fit *fit, const double *low, const double *high,
                   struct spex_next *next) {
    struct spex_fit means = *fit;
    const struct ranges ranges = {&means, low, high};
    bool better = true;
    means.model.share = means.model.floor = 0;
    *next = (struct spex_next){.share = -1};
    corners_try(&ranges, next);
    if (next->share < 0)
        return false;
    for (int round = 0; round < ROUNDS_MAX && better; round++) {
        better = false;
        for (size_t p = 0; p < fit->model.parameter_count; p++)
            better |= parameter_move(&ranges, p, next);
    }
    return true;
}
