/* SPDX-License-Identifier: MIT */
/* What the finals of an exploration tell (policies/explore/finals.h): who was in the last of them,
 * who was eliminated, how sure the best is, and what more trials would bring. */
#ifndef SPEX_EXPLORE_FINDINGS_FINAL_RACE_H
#define SPEX_EXPLORE_FINDINGS_FINAL_RACE_H

#include "explore/findings/ranking.h"
#include "measure/summary.h"
#include "policies/explore/finals.h"

/* A trial, as far as what is told of an exploration depends on the order of its trials. */
struct spex_final_trial {
    uint64_t block; /* 0: not of finals */
    size_t group;
    double value; /* of the first objective; NaN: it failed */
};

/* All trials, in the order in which they ended. All zero: there are none. */
struct spex_final_trials {
    struct spex_final_trial *items;
    size_t count, room;
};

/* Adds the trial, if its configuration is in the summary. 0 or -ENOMEM. */
int spex_final_trials_add(struct spex_final_trials *trials, const struct spex_summary *summary,
                          const struct spex_trial *trial);
void spex_final_trials_free(struct spex_final_trials *trials);

struct spex_finalist {
    size_t group;
    uint64_t trials; /* of these finals */
    double mean;     /* of these trials */
    bool out;
    uint64_t out_after; /* blocks */
};

struct spex_final_race {
    uint64_t trials; /* of all finals; 0: there were none, and all else is undefined */
    unsigned round;  /* the last finals: the first, the second … */
    uint64_t blocks; /* of the last finals */
    struct spex_finalist finalists[SPEX_FINALISTS_MAX];
    size_t count;
    size_t leader; /* finalist: the best of those that are left */
    double zone, asked;
    bool known;
    /* The probability, at least, that no finalist is better than the leader by more than the zone. */
    double sure;
    /* By how much one may be, with the probability asked for, as a share; infinite: not known. */
    double within;
    /* About how many trials more until it is known; infinite: not known. */
    double more;
};

/* The leader is the finalist of the best estimate. 0 or -ENOMEM. */
int spex_final_race_find(const struct spex_summary *summary, const struct spex_final_trials *trials,
                         const struct spex_ranking *standings, struct spex_final_race *race);

/* Lets the race decide between finalists: what was eliminated is neither the best nor as good. */
void spex_final_race_decide(const struct spex_final_race *race, struct spex_ranking *standings,
                            size_t *best);

/* Ranks all groups, with finals and what a drift adds to errors: the best and its standing, how many are tied, and the race. 0 or
 * -ENOMEM. */
int spex_final_race_ties(const struct spex_summary *summary, const struct spex_final_trials *trials,
                         struct spex_ranking *standing, size_t *best, size_t *tied,
                         struct spex_final_race *race);

/* One sentence: how sure it is, and what more trials would bring; `each`: the seconds of a trial, 0:
 * not known. Returns `text`. */
const char *spex_final_race_text(const struct spex_final_race *race, double each, char *text,
                                 size_t size);

#endif
