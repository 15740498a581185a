/* SPDX-License-Identifier: MIT */
/* What a drift of the machine adds to the errors of figures: trials near in time have more in common than
 * others, so that the mean of a configuration that was repeated within a while is less well known than
 * its trials' differences tell. */
#ifndef SPEX_EXPLORE_FINDINGS_DRIFT_ERROR_H
#define SPEX_EXPLORE_FINDINGS_DRIFT_ERROR_H

#include "explore/findings/final_race.h"

/* Widens the standings' intervals and margins. 0 or -ENOMEM. */
int spex_drift_widen(const struct spex_summary *summary, const struct spex_final_trials *trials,
                     struct spex_ranking *standings);

#endif
