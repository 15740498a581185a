/* SPDX-License-Identifier: MIT */
/* Reports of an instance about one probe and about the cost of its clock; and sums of them. */
#ifndef SPEX_FLEET_LEAD_REPORTED_ROW_H
#define SPEX_FLEET_LEAD_REPORTED_ROW_H

#include "fleet/lead/sparse_values.h"
#include "profile/profile.h"

/* Sums over instances by which they can be compared: executions e in s seconds. */
struct spex_reported_between {
    double count, e, s, ee, es, ss;
};

struct spex_reported_row {
    /* The number of the probe in the fleet. */
    size_t number;
    /* How many have reported it: one, but where they are joined. */
    size_t instances;
    struct spex_profile_probe probe;
    struct spex_reported_between between;
    struct spex_sparse_values *values[SPEX_MAX_FIELDS], *losses[SPEX_MAX_FIELDS];
};

/* What an empty span reads on the clocks of instances, in ticks: of each type the mean is taken off
 * times, with an error of single readings and of what instances differ by. */
enum { SPEX_REPORTED_TYPES = 32 };
struct spex_reported_type {
    uint32_t probe_type, pcid;
    double count, empty, squares, errors;
};
struct spex_reported_types {
    struct spex_reported_type items[SPEX_REPORTED_TYPES];
    size_t count;
};

/* A row of a profile, whose ticks are `factor` of the fleet's. 0 or -ENOMEM. */
int spex_reported_row_of(struct spex_reported_row *reported, size_t number,
                         const struct spex_profile_row *row, double factor);
void spex_reported_row_free(struct spex_reported_row *reported);
size_t spex_reported_row_bytes(const struct spex_reported_row *reported);

/* Adds to a row, all zero at first, whose values belong to it. 0 or -ENOMEM. */
int spex_reported_row_add(struct spex_profile_row *sum, const struct spex_reported_row *more);
void spex_reported_between_add(struct spex_reported_between *sum,
                               const struct spex_reported_between *more);

/* The mean of the executions a second of an instance while the probe was on, and the bounds of its
 * 95 % interval by what instances differ, as of a random sample of them. False: less than two
 * report. */
bool spex_reported_rate(const struct spex_reported_between *between, double *low, double *high);

void spex_reported_types_of(struct spex_reported_types *reported,
                            const struct spex_profile *profile, double factor);
void spex_reported_types_add(struct spex_reported_types *sum,
                             const struct spex_reported_types *more);

/* The types of a profile, allocated. 0 or -ENOMEM. */
int spex_reported_types_profile(const struct spex_reported_types *reported,
                                struct spex_profile *profile);

#endif
