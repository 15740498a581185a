/* SPDX-License-Identifier: MIT */
/* Names in NATS of what a fleet's explorations use, and their times. */
#ifndef SPEX_FLEET_TRIALS_TRIAL_NAMES_H
#define SPEX_FLEET_TRIALS_TRIAL_NAMES_H

#include <inttypes.h>
#include <stdio.h>

#include "explore/elsewhere.h"
#include "fleet/link/link.h"

/* Kinds of streams and subjects. */
#define SPEX_TRIALS  "trial"
#define SPEX_RESULTS "result"
#define SPEX_OFFERS  "offer"
#define SPEX_WORKERS "worker"

/* "trials_FLEET", "results_FLEET". */
static inline void spex_trial_stream(char stream[SPEX_LINK_NAME_BYTES], const char *fleet,
                                     const char *of) {
    snprintf(stream, SPEX_LINK_NAME_BYTES, "%ss_%.63s", of, fleet);
}

/* "spex.FLEET.OF". */
static inline void spex_trial_prefix(char prefix[SPEX_LINK_NAME_BYTES], const char *fleet,
                                     const char *of) {
    snprintf(prefix, SPEX_LINK_NAME_BYTES, "spex.%.63s.%s", fleet, of);
}

/* Of all trials of an exploration. */
static inline void spex_trial_subjects(char subject[SPEX_LINK_NAME_BYTES], const char *fleet,
                                       const char *of, const char *exploration) {
    snprintf(subject, SPEX_LINK_NAME_BYTES, "spex.%.63s.%s.%.16s.*", fleet, of, exploration);
}

/* Of one. */
static inline void spex_trial_subject(char subject[SPEX_LINK_NAME_BYTES], const char *fleet,
                                      const char *of, const struct spex_store_fleet *exploration,
                                      const struct spex_trial_id *id) {
    snprintf(subject, SPEX_LINK_NAME_BYTES, "spex.%.63s.%.6s.%.16s.%" PRIu64 "-%u", fleet, of,
             exploration->exploration, id->asked, id->repeat);
}

/* Seconds from one offer, or sign of a worker, to the next, and after which one that was not heard
 * of is gone. */
#define SPEX_SIGN_SECONDS 1.0
#define SPEX_GONE_SECONDS 5.0

/* Seconds after which a trial, or a result, of which nothing is heard is given to another one. A
 * worker tells after a third of them that it still works. */
enum { SPEX_TRIALS_PATIENCE = 10 };

#endif
