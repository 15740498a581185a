/* SPDX-License-Identifier: MIT */
/* What the parts of a step share. */
#ifndef SPEX_RATE_PLAN_H
#define SPEX_RATE_PLAN_H

#include "rate/rate.h"
#include "site/registry.h"

/* Seconds between steps, and until the first one about something new. */
#define SPEX_RATE_STEP_SECONDS  0.1
#define SPEX_RATE_FIRST_SECONDS 0.001

/* Of a true value 95 % are below what was found and so many standard errors. */
#define SPEX_RATE_ONE_SIDED_95 1.64

/* A record is wanted of each probe so many times a second before others get more. */
#define SPEX_RATE_RECORDS_LEAST 100.0

/* A step's plan, in seconds a second. */
struct spex_rate_room {
    double budget;
    double collecting; /* what collectors take of it without records */
    double repaid;     /* what is paid back of what the start has cost */
    double counting;   /* room for counting, and what it takes, likely and at most */
    double counted, counted_most;
    double slicing;     /* what slices have at least, if anything is in slices */
    double sliced_part; /* for each subject in slices */
    unsigned sliced, on;
    /* What a record costs of a collector. */
    double record;
};

enum spex_rate_event {
    SPEX_RATE_COMES,   /* it is selected */
    SPEX_RATE_GOES,    /* it has not been selected for long */
    SPEX_RATE_FITS,    /* the budget pays for counting all of it */
    SPEX_RATE_DEAR,    /* the budget does not */
    SPEX_RATE_POLL,    /* the policy has it polled */
    SPEX_RATE_RECOUNT, /* its executions are to be counted again */
    SPEX_RATE_EVENTS
};

/* Goes over to the state that follows. Returns whether it is another one. */
bool spex_rate_event(struct spex_rate_known *known, enum spex_rate_event event, double now);

/* The state of a subject. */
static inline struct spex_rate_known *spex_rate_known(const struct spex_rate *rate,
                                                      const struct spex_rate_subject *of) {
    return &rate->known[of->index];
}

/* The subject of the index; NULL: it is not there. */
const struct spex_rate_subject *spex_rate_find(const struct spex_rate *rate,
                                               const struct spex_rate_in *in, uint32_t index);

/* Whether it is selected now and has this state. */
static inline bool spex_rate_is(const struct spex_rate *rate, const struct spex_rate_subject *of,
                                enum spex_rate_state state) {
    return of->selected && spex_rate_known(rate, of)->state == state;
}

/* The records that so many executions make with its period. */
double spex_rate_records(const struct spex_rate_known *known, const struct spex_rate_subject *of,
                         double executions);

/* What a record costs more than an execution with its period, by calibration. */
double spex_rate_record(const struct spex_rate_known *known, const struct spex_rate_subject *of);

double spex_rate_skip_most(const struct spex_rate *rate, const struct spex_rate_known *known,
                           const struct spex_rate_subject *of);

/* Whether calls, or slices, tell that the program waits for memory: 1; that it does not: -1; or
 * nothing: 0. */
int spex_rate_waits(const struct spex_rate *rate);

/* A record likely costs at most so many times what was calibrated. */
double spex_rate_record_factor(const struct spex_rate *rate);

/* Measures how often it executes, if enough has been seen. */
void spex_rate_measure(struct spex_rate_known *known);

/* Which subjects are counted, and which are in slices. */
void spex_rate_fit(struct spex_rate *rate, const struct spex_rate_in *in,
                   struct spex_rate_room *room);

/* Begins and ends slices. */
void spex_rate_slice(struct spex_rate *rate, const struct spex_rate_in *in,
                     struct spex_rate_room *room);

/* Learns what executions and records cost in this program. */
void spex_rate_ask(struct spex_rate *rate, const struct spex_rate_in *in,
                   const struct spex_rate_room *room);

/* Has the policy divide among the subjects that are counted what is left. */
int spex_rate_divide(struct spex_rate *rate, const struct spex_rate_in *in,
                     const struct spex_rate_room *room, struct spex_rate_out *out);

/* Seconds between steps where nothing is new: so many, or more where steps cost too much. */
double spex_rate_between(const struct spex_rate *rate, const struct spex_rate_room *room,
                         double seconds);

/* A number from 0 to 1. */
double spex_rate_chance(struct spex_rate *rate);

#endif
