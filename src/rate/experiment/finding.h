/* SPDX-License-Identifier: MIT */
/* What experiments are about, what they see of the program, and what they conclude from figures. */
#ifndef SPEX_RATE_EXPERIMENT_FINDING_H
#define SPEX_RATE_EXPERIMENT_FINDING_H

#include <stddef.h>
#include <stdint.h>

/* Figures that a finding is made of, at most. */
#define SPEX_FIGURES_MOST 20

/* A state of a probe: argument of spex_probe_throttle(), and calibrated seconds an execution, the
 * share of executions that make records included. */
struct spex_subject_state {
    uint32_t period;
    double cost;
};

/* A probe that may be in a session, or in slices. */
struct spex_subject {
    uint32_t first; /* its first site */
    double frequency;
    struct spex_subject_state on;
    /* What a session without a witness compares; equal costs: there can be none. */
    struct spex_subject_state dear, cheap;
};

/* The program's progress, for the next step: that of all its threads, or of some. */
struct spex_progress {
    double part;                /* of the threads; below 1, frequencies are of others, too */
    uint64_t cpu_ns;            /* CPU time of the program's threads */
    uint64_t threads;           /* changes when the set of threads changes */
    const uint64_t *executions; /* of each probe, by the index of its first site */
};

/* What is found of a group of probes, or of one in slices. */
struct spex_finding {
    const uint32_t *firsts;
    size_t count;
    double factor; /* their cost as a multiple of the calibrated cost */
    double error;  /* standard error of `factor` */
};

/* The trimmed mean of up to SPEX_FIGURES_MOST figures, and its standard error by their Winsorized
 * variance, for which the figures that are left out take the value of the outermost that is not
 * (Tukey and McLaughlin, Sankhya A 25, 1963). */
void spex_finding_mean(const double *figures, size_t n, double *mean, double *error);

/* Results about the same probes, weighted by precision. All 0: there are none. */
struct spex_results_known {
    double weight, sum;
};

/* Returns the results with another one, before which the former ones have less weight. */
struct spex_results_known spex_finding_join(struct spex_results_known former, double factor,
                                            double error);

/* Sets the factor that results tell, for which the calibrated cost is a prior, and its error. */
void spex_finding_set(struct spex_finding *finding, struct spex_results_known results);

/* Makes a finding about executions that call the library one about all. Where loads stall, as when
 * each execution misses all caches, what counts is not time in calibrated loops but the number of
 * instructions, and a skipped execution has more of them for its time than a call has. */
void spex_finding_of_calls(struct spex_finding *finding);

#endif
