/* SPDX-License-Identifier: MIT */
/* How much the profile of those instances that record agrees with that of all of them: the overlap
 * percentage of Arnold and Ryder, "A Framework for Reducing the Cost of Instrumented Code", by
 * which the paper measures its accuracy (section 4.2). A profile gives each probe its share of all
 * executions; the overlap of two is the sum over the probes of the smaller share.
 *
 * What instances without probes would record is not known. Those that record are taken for a random
 * sample of the fleet, and fleets are drawn from them: the overlaps of the drawn samples with the
 * drawn fleets give the estimate and its interval. */
#ifndef SPEX_FLEET_LEAD_OVERLAP_H
#define SPEX_FLEET_LEAD_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>

/* Executions a second of each probe at each instance that records: `probes` numbers an instance;
 * negative: not recorded there. */
struct spex_overlap_rates {
    const float *rates;
    size_t instances, probes;
    /* Of all instances, with those that record nothing. */
    size_t fleet;
};

/* From 0 to 1, with the 95 % interval. */
struct spex_overlap {
    double share, low, high;
};

/* 1; 0: it is not known, with less than two instances that record, or no executions; or -ENOMEM.
 * The same rates give the same estimate. */
int spex_overlap_estimate(const struct spex_overlap_rates *rates, struct spex_overlap *overlap);

#endif
