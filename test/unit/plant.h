/* SPDX-License-Identifier: MIT */
/* What the controller sees of a process and does to it, simulated in virtual time: a program
 * that is slowed down by its probes, and the collector that empties its rings. It stands in for
 * the library around src/controller.c; the controller, the budget and the policies are the real
 * ones. */
#ifndef SPEX_TEST_PLANT_H
#define SPEX_TEST_PLANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "rate/slices.h"

enum { PLANT_PROBES_MAX = 1000 };

struct plant_options {
    double share;          /* the budget */
    unsigned cpus;         /* that the program keeps busy */
    unsigned probes;       /* at most PLANT_PROBES_MAX */
    double skip_ns;        /* an execution without a record takes */
    double record_ns;      /* one with a record takes */
    double drawn_ns;       /* one with a record that chance has chosen; 0: as record_ns */
    double called_ns;      /* one takes more that calls the library; 0: twice skip_ns */
    double dearer;         /* all that is so many times what was calibrated; 0: as much */
    double records_dearer; /* what a record takes beyond an execution; 0: as dearer */
    double late;           /* seconds by which the collector may be late when it is to be woken */
    double start;          /* seconds that the start of spex has cost */
    double count_ns;       /* counting a probe's executions takes of the collector; 0: 20 */
    double pass_ns; /* the first pass after a sleep takes besides records; 0: as all, 3,000 */
    const struct spex_rate_policy_ops *policy; /* NULL: "fair" */
    uint64_t seed;                             /* of chance */
    double seconds;                            /* how long it runs at most */
    /* All probes stand in one region. Passes through it a second, were they not slowed down, on all
     * CPUs together; 0: there is no region. */
    double passes;
    double region_ns; /* a pass takes besides its executions */
    double call_ns;   /* more, if the next record may be due in it */
    uint32_t weight;  /* the executions that the region declares */
    /* Executions a second of the probe, on all CPUs together, were they not slowed down. */
    double (*rate)(const void *scenario, unsigned probe, double seconds);
    /* The share of the time for which its threads have the processors; NULL: 1. */
    double (*runs)(const void *scenario, double seconds);
    /* Whether the probe is selected; NULL: always. */
    bool (*selected)(const void *scenario, unsigned probe, double seconds);
    const void *scenario;
    /* What an execution of each probe takes without a record; NULL: skip_ns. */
    const double *skips_ns;
    /* The relative variance of each probe's values; NULL: it is not known. */
    const double *spreads;
    uint32_t threads; /* that execute all of it in equal parts; 0: 1 */
};

/* Runs it from its start to options->seconds; what it was like can be asked for until the next
 * run. */
void plant_run(const struct plant_options *options);

/* Executions while the probe was held off: the truth, and what the controller told at the end. */
struct plant_held {
    double truth;
    struct spex_held_executions told;
};

struct plant_held plant_held(unsigned probe);

/* Whether it was ever decided that all executions of the probe make records. */
bool plant_recorded_all(unsigned probe);

/* Most that was spent in any `length` seconds within the interval, over what the budget allows in
 * such a time. */
double plant_worst(double from, double to, double length);

/* What was spent in the interval, over what the budget allows. */
double plant_mean(double from, double to);

/* The period that a probe had then: 1 for all; SPEX_SITE_HELD for off. */
uint32_t plant_period(unsigned probe, double seconds);

/* How often the controller had the caches measured. */
unsigned plant_caches_measured(void);

/* Seconds a second that all executions would take if each made a record, collecting included, or if
 * none did. */
double plant_demand(double seconds, bool records);

/* What a record takes altogether, in seconds. */
double plant_record_seconds(void);

#endif
