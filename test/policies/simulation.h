/* SPDX-License-Identifier: MIT */
/* A policy explores a landscape, and what reports would say of its trials is compared with the truth. */
#ifndef SPEX_TEST_SIMULATION_H
#define SPEX_TEST_SIMULATION_H

#include "landscapes.h"

struct outcome {
    uint64_t trials;
    uint64_t in_finals; /* of these */
    uint64_t configs;   /* different ones with a result */
    double seconds;     /* measured */
    double share; /* what is recommended, of the best; 0 for none, or one that breaks a limit */
    double policy_seconds; /* processor time of its own, in all */
    bool covered;          /* the interval of what is recommended holds its true mean */
    double all_covered;    /* share of the configurations with a result whose interval does so */
    double width;     /* half of the interval of what is recommended, as a share of its truth */
    bool best_tied;   /* one that is really best is among the tied */
    bool alone;       /* no other is said to be as good as what is recommended */
    bool alone_right; /* that is said, and true */
    uint64_t tied;
    bool known;       /* finals tell that no finalist is better by more than the zone */
    bool known_right; /* that is said, and true */
    bool best_raced;  /* one that is really best of those tried was in finals */
    bool selected;    /* what is recommended is as good as that, up to the zone */
    double front;     /* with two objectives: share of the front's volume that was found */
};

struct simulation {
    const struct spex_policy_ops *policy;
    const struct landscape *landscape;
    const struct landscape_noise *noise; /* NULL: that of real programs */
    uint64_t seed;
    unsigned parallel; /* runs at a time; 0 and 1: one */
    bool failures;
};

/* Landscapes have nothing that changes but the seed, which is set in a copy of the space. Ends the
 * program when something is not as a policy has to be. */
void simulate(const struct simulation *simulation, struct outcome *outcome);

#endif
