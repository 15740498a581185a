/* SPDX-License-Identifier: MIT */
#include "fair.h"

/* What executions that make no record may take of it all; the rest is for records, which need little. */
#define DETECT_SHARE 0.95

/* Halvings of the interval in which the level is looked for. */
enum { STEPS = 64 };

static double detecting(const struct spex_fair_class *classes, size_t count) {
    double sum = 0;
    for (size_t c = 0; c < count; c++)
        if (!classes[c].held)
            sum += classes[c].frequency * classes[c].detect;
    return sum;
}

static struct spex_fair_class *dearest(struct spex_fair_class *classes, size_t count) {
    struct spex_fair_class *most = NULL;
    for (size_t c = 0; c < count; c++)
        if (!classes[c].held &&
            (!most || classes[c].frequency * classes[c].detect > most->frequency * most->detect))
            most = &classes[c];
    return most;
}

static double minimum_of(const struct spex_fair_class *class) {
    return class->least < class->most ? class->least : class->most;
}

static double records_at(const struct spex_fair_class *class, double level) {
    double low = minimum_of(class);
    if (class->held)
        return 0;
    if (level < low)
        return low;
    return level < class->most ? level : class->most;
}

static double reporting(const struct spex_fair_class *classes, size_t count, double level) {
    double sum = 0;
    for (size_t c = 0; c < count; c++)
        sum += records_at(&classes[c], level) * classes[c].report;
    return sum;
}

static double highest(const struct spex_fair_class *classes, size_t count) {
    double most = 0;
    for (size_t c = 0; c < count; c++)
        most = classes[c].most > most ? classes[c].most : most;
    return most;
}

/* The records a second at which all together cost `rate`: the greatest, to the precision of a double. */
static double level_for(const struct spex_fair_class *classes, size_t count, double rate) {
    double low = 0, high = highest(classes, count);
    if (reporting(classes, count, high) <= rate)
        return high;
    for (int step = 0; step < STEPS; step++) {
        double middle = (low + high) / 2;
        if (reporting(classes, count, middle) <= rate)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void spex_fair_shares(struct spex_fair_class *classes, size_t count, double steady, double rate) {
    for (size_t c = 0; c < count; c++)
        classes[c].held = false;
    while (detecting(classes, count) > steady * DETECT_SHARE)
        dearest(classes, count)->held = true;
    double left = rate - detecting(classes, count);
    if (left < steady * (1 - DETECT_SHARE))
        left = steady * (1 - DETECT_SHARE);
    double level = level_for(classes, count, left);
    double least = reporting(classes, count, 0);
    /* Where there is not even enough for the minima, all get less. */
    double scale = least > left ? left / least : 1;
    for (size_t c = 0; c < count; c++)
        classes[c].records = records_at(&classes[c], level) * scale;
}
