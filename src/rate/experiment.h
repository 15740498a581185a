/* SPDX-License-Identifier: MIT */
/* What probes really cost this program, by trying: for some milliseconds at a time those that are believed to cost the
 * most are held off, in random order, and how far the program gets meanwhile on its own CPU time is told by another
 * probe, the witness, whose executions go on being counted. What a probe costs in a loop of its own (calibration) says
 * little about a program that has better things to do with the same instructions: beside cache misses that overlap, an
 * execution costs several times as much.
 *
 * In the first collector's thread alone. */
#ifndef SPEX_RATE_EXPERIMENT_H
#define SPEX_RATE_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A probe, as the controller sees it. */
struct spex_subject {
    uint32_t first;  /* its first site */
    uint32_t period; /* what spex_probe_throttle is told when it is on */
    double frequency;
    /* Seconds an execution, as calibrated, with the records among executions. */
    double cost;
};

/* What a session has found about some probes together. */
struct spex_finding {
    const uint32_t *firsts;
    size_t count;
    double factor; /* what they cost, as a multiple of what calibration says */
    double error;  /* of it, a standard error */
};

/* A collection begins. */
void spex_experiment_reset(uint64_t seed);

/* Whether a session may begin, at `now` seconds, and if so begins it. `share`: what all probes
 * may take. */
bool spex_experiment_begin(const struct spex_subject *subjects, size_t count, double share,
                           double now);

bool spex_experiment_running(void);

/* Seconds until it wants to be called; while it is running. */
double spex_experiment_due(double now);

/* What the program has done, for the next step. */
struct spex_progress {
    uint64_t cpu_ns;            /* of its threads */
    uint64_t threads;           /* another number: they are others */
    const uint64_t *executions; /* of each probe, by first sites */
};

/* True: the session is over, with *finding, whose `count` is 0 when nothing has come of it. All
 * its probes are on. */
bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding);

/* Ends the session without a finding. */
void spex_experiment_abort(double now);

#endif
