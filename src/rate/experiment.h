/* SPDX-License-Identifier: MIT */
/* Experiments: measure what probes really cost this program. A session switches a group of probes,
 * the dearest by calibration, off and on for some milliseconds at a time in random order. Another
 * probe, the witness, whose executions stay counted, measures the program's progress per CPU time.
 * Calibration measures a probe in a loop of its own; in a program whose instructions overlap with
 * cache misses an execution may cost several times as much.
 *
 * Where no other probe can be the witness, the dearest is its own: instead of off it is on with a
 * longer period. So it tells what its records cost; what executions without one cost is taken to
 * be as many times what was calibrated.
 *
 * Of a probe that is in slices of the time these tell the same, without a session: the program is
 * slower in a slice than in the hold-offs before and after it. Where no other probe can be the
 * witness, every other slice has more records, and the program is slower in it than in the slices
 * before and after it.
 *
 * Called by the first collector's thread alone. Times are in seconds of one clock of the caller. */
#ifndef SPEX_RATE_EXPERIMENT_H
#define SPEX_RATE_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Figures that a finding is made of, at most. */
#define SPEX_FIGURES_MOST 20

/* Executions of the witness that a part of a probe in slices must have. */
#define SPEX_WITNESSED_LEAST 30

/* A probe that may be in a session, or in slices. */
struct spex_subject {
    uint32_t first;  /* its first site */
    uint32_t period; /* argument of spex_probe_throttle() while it is on */
    double frequency;
    /* Calibrated seconds an execution, the share of executions that make records included. */
    double cost;
    /* A longer period, and the cost with it, for a session without a witness; 0: there can be
     * none. */
    uint32_t sparse_period;
    double sparse_cost;
};

/* Result of a session about a group of probes. */
struct spex_finding {
    const uint32_t *firsts;
    size_t count;
    double factor; /* their cost as a multiple of the calibrated cost */
    double error;  /* standard error of `factor` */
};

/* A collection begins: forgets all findings. */
void spex_experiment_reset(uint64_t seed);

/* Begins a session if there is reason for one. `share`: seconds a second that all probes may take.
 * `part`: that of spex_progress. False: no session has begun. */
bool spex_experiment_begin(const struct spex_subject *subjects, size_t count, double share,
                           double part, double now);

bool spex_experiment_running(void);

/* Seconds until the next step is due, while a session runs. */
double spex_experiment_due(double now);

/* The program's progress, for the next step: that of all its threads, or of some. */
struct spex_progress {
    double part;                /* of the threads; below 1, frequencies are of others, too */
    uint64_t cpu_ns;            /* CPU time of the program's threads */
    uint64_t threads;           /* changes when the set of threads changes */
    const uint64_t *executions; /* of each probe, by the index of its first site */
};

/* What a slice or a hold-off was like. */
struct spex_slice_part {
    /* CPU seconds for an execution of the witness; NAN: not known. */
    double time;
    /* What the probe costs of that by calibration. */
    double cost;
};

/* Figures of a probe that is in slices. All zero: there are none. */
struct spex_sliced {
    /* The witness, and the progress when the slice or the hold-off began; `cpu_ns` 0: it is not
     * known. */
    uint32_t witness;
    uint64_t cpu_ns, threads, witnessed, executed;
    /* The last part that cost little, and the dear one after it. */
    struct spex_slice_part before, within;
    /* Slices without another witness, and whether the last of them makes many records. */
    unsigned alone;
    bool dense;
    /* The last figures: how much longer the dear part took than its neighbours, as a multiple of
     * what it should have by calibration. */
    unsigned count;
    double figures[SPEX_FIGURES_MOST];
};

/* What has ended: a part in which the probe costs little, or one in which it costs much; or one
 * that tells nothing. */
enum spex_slice_over { SPEX_SLICE_CHEAP, SPEX_SLICE_DEAR, SPEX_SLICE_NEITHER };

/* A slice of `subject` begins, or ends. `witness`: a probe that has been on in all parts that tell
 * something. True: there is a finding. */
bool spex_experiment_sliced(struct spex_sliced *sliced, const struct spex_subject *subject,
                            uint32_t witness, enum spex_slice_over over,
                            const struct spex_progress *progress, struct spex_finding *finding);

/* Ends a slice if it is over, and begins the next. True: the session is over, all its probes are
 * on, and *finding is the result; its `count` is 0 where there is none. */
bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding);

/* No session begins before `until`. */
void spex_experiment_rest(double until);

/* Ends the session without a finding. */
void spex_experiment_abort(double now);

#endif
