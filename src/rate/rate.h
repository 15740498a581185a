/* SPDX-License-Identifier: MIT */
/* Keeps the cost of probes within a share of the program's CPU time: from what has been seen of the
 * program follows which period each probe has from now on, and why. Pure: the caller reads clocks
 * and counts, and throttles probes (snapshot.h). Times are in seconds, costs in seconds of CPU
 * time, rates by the second.
 *
 * A subject is what is decided about as one: a probe, or a group of probes (groups.h). */
#ifndef SPEX_RATE_RATE_H
#define SPEX_RATE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "base/random.h"
#include "rate/bound.h"
#include "rate/collecting.h"
#include "rate/contrast.h"

/* What a subject does; modes.c has what leads from one to another. */
enum spex_rate_state {
    SPEX_RATE_IDLE,    /* it is not selected */
    SPEX_RATE_NEW,     /* on, and how often it executes is not known yet */
    SPEX_RATE_COUNTED, /* on: every execution is counted */
    SPEX_RATE_SLICED,  /* on for slices of the time */
    SPEX_RATE_POLLED,  /* polled: its executions are not counted */
    SPEX_RATE_STATES
};

/* No subject. */
#define SPEX_RATE_NONE UINT32_MAX

/* Periods, as the registry has them (spex_probe_throttle): also SPEX_SITE_HELD, POLLED, CALLED and
 * COUNTED. */
#define SPEX_RATE_FIRST 0 /* bursts of records: nothing is known yet */
#define SPEX_RATE_ALL   1

/* By calibration. */
struct spex_rate_costs {
    double skip;   /* an execution without a record */
    double record; /* more, for one with a record */
    double drawn;  /* more, for one with a record that chance has chosen */
    double call;   /* more, for one that calls the library; 0: not known */
    double polled; /* an execution while it is polled */
};

struct spex_rate_subject {
    /* Of its state, struct spex_rate_known. */
    uint32_t index;
    /* The period that the user has selected; 0: it is off. */
    uint32_t selected;
    /* Executions that were counted so far, and for how long they were. */
    double executions, on;
    /* The part of them that can make records. */
    double recorded;
    /* Records that all threads make before anything is decided; 0: as many as executions. */
    double first;
    /* The relative variance of its values: how many records its mean needs. NAN: not known; 0: it
     * has no values. */
    double spread;
    struct spex_rate_costs cost;
    /* Whether it can be polled, and the mean number of threads that execute it. */
    bool pollable;
    double share;
};

struct spex_rate_in {
    double now;
    /* CPU time of the program so far, without that of spex; and that of spex. */
    double used, own;
    /* CPU time of the threads that execute probes, up to now: the clock of the process is late while
     * they run on other CPUs. What was read with another `threads` cannot be compared. */
    double running;
    uint32_t threads;
    /* Records that were made so far. */
    double records;
    /* What is charged besides, since the last step. */
    double charged;
    /* The budget, as a share of `used`. */
    double share;
    /* Divides among subjects what the budget leaves for records. `overspends`: what it decides holds
     * whatever it costs. `polls`: it has some polled, and a look at these costs so much. */
    const struct spex_rate_policy_ops *policy;
    void *workspace;
    bool overspends, polls;
    double look;
    size_t count;
    const struct spex_rate_subject *subjects;
};

/* What is known of a subject. All zero: nothing. */
struct spex_rate_known {
    enum spex_rate_state state;
    uint32_t period;
    /* Why, for users: a constant. */
    const char *why;
    /* When the state began. When it was switched off; 0: it is selected. */
    double since, gone;
    /* Its place among the subjects. */
    uint32_t at;
    /* What was last seen, and seen since the last measurement. */
    double executions, on, fresh, fresh_on;
    /* Executions a second while it is on; at most so many when they were not counted. */
    double rate, rate_uncounted;
    /* An execution costs so much by what is known, and at most; and so a second that it is on. */
    double each_likely, each_most;
    double likely, most;
    /* By calibration alone. */
    double hot;
    /* The budget pays for counting it. */
    bool fits;
    /* It is or has been in slices: what they tell holds for it. */
    bool sliced;
    /* In slices: the part of them in which it is on, what is owed to it of the next one, when it
     * went off, for how long it was before the slice that goes on, and for how long it had been on by
     * then. Its period in the last slice. */
    double part, owed, off_since, off, slice_on;
    uint32_t slice_period;
    /* What it has cost by calibration in the slice so far; its mean share of what slices cost; and what
     * these told while it was in them. */
    double slice_cost, share;
    struct spex_rate_finding found;
    /* What executions of all that were on in its last slice have likely cost of the program's time. */
    double slowed;
    /* Polled: until when, and for how long the last time. */
    double polled_until, polled_for;
    /* It makes no records now, or calls, to tell what that costs. */
    bool asked;
};

/* Slices of the time for all subjects that cannot be on all the time. */
struct spex_rate_slices {
    /* So many subjects are in slices. */
    unsigned of;
    bool on;
    double since, until;
    /* The length of the last one. */
    double length;
    /* Seconds of slices that the pause pays for, and that later ones have to; what one costs; and by
     * how much the pause is longer or shorter by chance. */
    double paid, unpaid, second, random;
    /* Seconds' worth of the budget that were owed when the pause began. */
    double debt;
    /* When it began: CPU time and work of the program, and what its probes had cost by calibration. */
    double running, units, cost;
    /* And what executions in slices have likely cost since. */
    double likely;
    uint32_t threads, witness;
    unsigned ended;
    /* What executions cost in slices, by how much longer the program takes in them. */
    struct spex_rate_contrast found;
};

/* What is asked of the program (asking.c). */
struct spex_rate_asking {
    unsigned phase, times;
    /* When the phase began; CPU time of the program then; executions of what is counted since; what
     * calls or records in them cost by calibration; and what slices have cost meanwhile. */
    double since, running, units, cost, beside;
    /* By how much it is longer or shorter by chance. */
    double random;
    /* When it is over; INFINITY: a step comes early enough. */
    double due;
    uint32_t threads;
    /* Subjects that are counted, and that were when it began. */
    unsigned counted, counted_before;
    struct spex_rate_contrast calls, records;
};

enum { SPEX_RATE_STEPS_KEPT = 5 };

struct spex_rate {
    double now, used, own, records;
    /* What the budget is a share of, so far: `used`, but at least 1 % of a CPU. */
    double worked;
    /* Unspent budget; below 0: owed. */
    double tokens;
    /* When accounts began, and what the first moments have cost that is not paid back yet. */
    double began, lent;
    /* The part of what comes in by which it is. */
    double repaid;
    /* CPUs that the program keeps busy. */
    double cpus;
    /* What probes and collectors have taken so far. */
    double spent;
    struct spex_rate_collecting collecting;
    /* What a step costs, with the pass in which it is made: the lower median of the last ones, since
     * the first finds no memory ready and takes ten times as long as others. */
    double step, step_costs[SPEX_RATE_STEPS_KEPT]; /* the last one first */
    unsigned steps;                                /* so many are known */
    struct spex_rate_slices slices;
    struct spex_rate_asking asking;
    /* Whether the program waits for memory (spex_rate_waits), as far as was known by the last step. */
    int waits;
    /* The most frequent subject that is counted: it tells how much work the program does. */
    uint32_t witness;
    struct spex_random random;
    struct spex_rate_caches caches;
    /* The caller's, one for each subject that there may be; `known` by index. */
    struct spex_rate_known *known;
    struct spex_rate_class *classes;
    struct spex_rate_decision *decisions;
    uint32_t *order;
};

struct spex_rate_out {
    /* When the next step is due. */
    double due;
    /* The pause between passes of collectors that find few records; 0: the usual one. */
    double rest;
    /* Looks a second at what is polled; 0: nothing is. */
    double looks;
};

/* Whether the policy has something recorded or counted that there is no budget for: what it decides
 * holds whatever it costs. */
bool spex_rate_overspends(const struct spex_rate_policy_ops *policy, void *workspace);

/* Begins. The members that are the caller's are set. */
void spex_rate_begin(struct spex_rate *rate, uint64_t seed);

/* Takes in what a step has cost. */
void spex_rate_note_step(struct spex_rate *rate, double cost);

/* Takes in what has happened since the last step. */
void spex_rate_account(struct spex_rate *rate, const struct spex_rate_in *in);

/* Takes in what has happened, and decides. 0; or the policy's error, and periods stay. */
int spex_rate_step(struct spex_rate *rate, const struct spex_rate_in *in,
                   struct spex_rate_out *out);

/* What an execution without a record likely costs, and at most. */
double spex_rate_skip(const struct spex_rate *rate, const struct spex_rate_known *known,
                      const struct spex_rate_subject *of);

/* The share of the program's time that a second of the budget comes to. */
double spex_rate_budget(const struct spex_rate *rate, double share);

#endif
