/* SPDX-License-Identifier: MIT */
/* The state of the simulated process (plant.h): plant.c moves it on, plant_asked.c tells the
 * controller of it. */
#ifndef SPEX_TEST_PLANT_STATE_H
#define SPEX_TEST_PLANT_STATE_H

#include "plant.h"
#include "site/registry.h"

#define TICKS_PER_SECOND 2.5e9

/* The ring's alarm, when the library is told nothing. */
#define ALARM_RECORDS 4096.0

struct plant {
    struct plant_options options;
    struct spex_site_info infos[PLANT_PROBES_MAX + 1]; /* the region's is behind the probes' */
    uint32_t periods[PLANT_PROBES_MAX];                /* as spex_probe_throttle has them, but 0 */
    bool recorded_all[PLANT_PROBES_MAX];               /* the controller has asked for that */
    double executions[PLANT_PROBES_MAX];
    double told_of[PLANT_PROBES_MAX];   /* executions as its records in the region tell them */
    double passes, calls;               /* as the region's calls tell them; and these */
    double uncounted[PLANT_PROBES_MAX]; /* executions while it was off */
    double on[PLANT_PROBES_MAX];        /* seconds for which it was on */
    double held[PLANT_PROBES_MAX];      /* and for which the controller held it off */
    bool unselected[PLANT_PROBES_MAX];  /* now */
    uint32_t selections;                /* changes of that */
    bool rung;                          /* one has gone on since */
    struct spex_held_executions told[PLANT_PROBES_MAX];
    double produced, taken;
    double ring;    /* records in each CPU's */
    double alarm;   /* at so many */
    double seconds; /* now */
    double used;    /* CPU seconds of the program */
    double probing; /* those that probes took */
    double collector, collector_noted;
    uint64_t rest_ns;
    unsigned caches_measured;
    uint64_t random;
    /* In each note what was spent so far, and the period of each probe. */
    double *spent;
    uint32_t *noted;
    size_t notes_count;
};

extern struct plant plant;

static inline double ticks(double seconds) {
    return seconds * TICKS_PER_SECOND;
}

static inline uint32_t period_of(unsigned probe) {
    return plant.periods[probe];
}

static inline bool is_on(unsigned probe) {
    return !plant.unselected[probe] && period_of(probe) != SPEX_SITE_HELD;
}

static inline bool is_called(unsigned probe) {
    return period_of(probe) == SPEX_SITE_CALLED;
}

/* Whether executions make no record while it is on. */
static inline bool makes_none(unsigned probe) {
    return is_called(probe) || period_of(probe) == SPEX_SITE_COUNTED;
}

/* What an execution takes more that calls the library. */
static inline double call_more_ns(void) {
    return plant.options.called_ns > 0 ? plant.options.called_ns : 2 * plant.options.skip_ns;
}

static inline bool has_region(void) {
    return plant.options.passes > 0;
}

#endif
