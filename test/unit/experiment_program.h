/* SPDX-License-Identifier: MIT */
/* A program whose probes experiments are made on: the test says how far it gets in each slice. */
#ifndef SPEX_TEST_EXPERIMENT_PROGRAM_H
#define SPEX_TEST_EXPERIMENT_PROGRAM_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>
#include <spex/site.h>

#include "../check.h"
#include "base/random.h"
#include "rate/experiment/experiment.h"
#include "site/registry.h"
#include "site/selection/selection.h"

enum { PROBES = 24, PERIOD = 20, SPARSE_PERIOD = 80 };

#include "counted_sites.h"

static const double SHARE = 0.05;

static struct spex_subject subjects[PROBES];

static struct {
    struct spex_random random;
    double now;
    double slice; /* seconds that a slice lasts */
    uint64_t cpu_ns, threads;
    uint64_t executions[SPEX_MAX_SITES];
} program;

static inline bool is_on(unsigned p) {
    return spex_probe_state(first_of(p), 0).sites_on;
}

static inline uint32_t period_of(unsigned p) {
    return spex_probe_state(first_of(p), 0).sampling.period;
}

/* Between 0 and 1. */
static inline double even(void) {
    return (double)(spex_random_next(&program.random) >> 11) / (double)(UINT64_C(1) << 53);
}

static inline void begin(uint64_t seed) {
    spex_experiment_abort(program.now);
    memset(&program, 0, sizeof(program));
    program.slice = 0.01;
    spex_random_seed(&program.random, seed, 2);
    spex_experiment_reset(seed);
    for (unsigned p = 0; p < PROBES; p++)
        subjects[p] = (struct spex_subject){.first = first_of(p)};
}

static inline void subject(unsigned p, double frequency, double cost) {
    subjects[p].frequency = frequency;
    subjects[p].on.cost = subjects[p].dear.cost = subjects[p].cheap.cost = cost;
}

static inline bool start_part(double part) {
    return spex_experiment_begin(subjects, PROBES, SHARE, part, program.now);
}

static inline bool start(void) {
    return start_part(1);
}

/* `part`: of the threads. True: the session is over. */
static inline bool step(double part, struct spex_finding *finding) {
    const struct spex_progress progress = {part, program.cpu_ns, program.threads,
                                           program.executions};
    double due = spex_experiment_due(program.now);
    assert_true(fabs(due - program.slice) < 1e-9);
    assert_false(spex_experiment_step(program.now + due * 0.9, &progress, finding));
    assert_true(fabs(spex_experiment_due(program.now + due * 0.9) - due * 0.1) < 1e-9);
    program.now += due * 1.0000001;
    assert_true(spex_experiment_due(program.now) == 0);
    return spex_experiment_step(program.now, &progress, finding);
}

static inline void work(double seconds, unsigned p, uint64_t count) {
    program.cpu_ns += (uint64_t)(seconds * 1e9);
    program.executions[first_of(p)] += count;
}

/* The pause is `seconds` long. */
static inline void expect_pause(double seconds) {
    double end = program.now;
    program.now = end + seconds - 1e-6;
    assert_false(start());
    program.now = end + seconds + 1e-6;
}

#endif
