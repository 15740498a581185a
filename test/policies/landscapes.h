/* SPDX-License-Identifier: MIT */
/* Made-up programs whose true figures are known, with noise of several kinds. That of real ones:
 * trials of a configuration vary by a coefficient of variation of its own (8 % in the median, 27 % at
 * the 90th percentile), and the machine drifts. */
#ifndef SPEX_TEST_LANDSCAPES_H
#define SPEX_TEST_LANDSCAPES_H

#include <spex/policy.h>

enum { LANDSCAPE_PARAMETERS = 12, LANDSCAPE_CRITERIA = 3, LANDSCAPE_LEVELS = 32 };

struct landscape;

/* What a configuration is worth, in the unit of each criterion. */
typedef void landscape_truth(const struct landscape *landscape, const size_t *levels,
                             double *truth);

struct landscape {
    const char *name;
    struct spex_space space;
    struct spex_parameter parameters[LANDSCAPE_PARAMETERS];
    struct spex_value values[LANDSCAPE_PARAMETERS][LANDSCAPE_LEVELS];
    struct spex_criterion criteria[LANDSCAPE_CRITERIA];
    landscape_truth *truth;
    double best; /* of the first objective, with all limits kept */
};

enum { LANDSCAPES = 11 };

/* Number 0 is SQLite's. */
void landscape_make(struct landscape *landscape, size_t number);

/* Share of the best: 1 is the best itself; 0 for one that breaks a limit. */
double landscape_share(const struct landscape *landscape, const size_t *levels);

/* How many configurations are worth at least this share, and how many there are. */
uint64_t landscape_within(const struct landscape *landscape, double share, uint64_t *all);

/* How trials vary. What is true of a configuration is their mean. */
struct landscape_noise {
    const char *name;
    double variation; /* deviation of a trial's logarithm, of the median configuration */
    double uneven;    /* deviation of the logarithm of that among configurations */
    double drift;     /* deviation of the machine's speed */
    double records;   /* variation of a record; 0: runs tell no error of their own */
    double outliers;  /* share of the trials in which the machine is half as fast */
};

enum { LANDSCAPE_NOISES = 8 };

/* Number 0 is that of real programs. */
extern const struct landscape_noise landscape_noises[LANDSCAPE_NOISES];

/* Time and chance of one exploration. */
struct machine {
    const struct landscape_noise *noise; /* at the start that of real programs */
    uint64_t random;
    double drift;
    double seconds; /* measured so far */
    bool failures;  /* every seventh trial fails */
    uint64_t trials;
};

void machine_start(struct machine *machine, uint64_t seed);

struct run {
    double measured_seconds;
    bool ok;
    struct spex_measured measured[LANDSCAPE_CRITERIA];
    uint64_t records;
};

/* One run, that goes on until the policy or the duration stops it. */
void machine_run(struct machine *machine, const struct landscape *landscape,
                 const struct spex_policy_ops *policy, void *state, const struct spex_plan *plan,
                 struct run *run);

#endif
