/* SPDX-License-Identifier: MIT */
/* The state of an attachment. Times are seconds; CPU time is that of all the program's threads. */
#ifndef SPEX_ATTACH_ATTACHED_H
#define SPEX_ATTACH_ATTACHED_H

#include "attach/attachment.h"
#include "attach/pairing.h"
#include "base/random.h"
#include "rate/slices.h"
#include "stats/tracer.h"

enum spex_attached_state {
    /* Not switched on yet. */
    SPEX_ATTACHED_WAITS,
    SPEX_ATTACHED_ON,
    SPEX_ATTACHED_SLICED,
    /* Nothing of it is on any more, or ever was. */
    SPEX_ATTACHED_REFUSED
};

/* A figure with each cost of a hit: the least, what is likely, and the most. */
enum { SPEX_COST_LEAST, SPEX_COST_LIKELY, SPEX_COST_MOST, SPEX_COST_GUESSES };

/* A moment, by the clock, and by the CPU time that the program has used until then. The kernel tells of
 * another process's CPU time once a tick only: in between it is what the program uses on average. */
struct spex_attached_time {
    double wall, cpu;
};

struct spex_attached_function {
    enum spex_attached_state state;
    bool on;
    /* Code in the program counts: a stub or a trampoline. */
    bool stubs;
    /* The user was told that it is not on all the time. */
    bool said;
    /* The number of its first site, and of how many in all: those that count, and those of its ends, which follow. It
     * is timed if there are any. */
    size_t site;
    unsigned counting, sites;
    /* Seconds an execution. */
    double cost[SPEX_COST_GUESSES];
    /* When it was last switched on or off, and its executions then. */
    struct spex_attached_time since;
    uint64_t count_since;
    /* So far: executions, and CPU time on and off; and the same by the clock. */
    struct spex_slices_reading sum;
    double on_seconds, held_seconds;
    /* By CPU time, without what hits took while it was on; and with that, by which the program does less. */
    struct spex_slices slices, slowed;
    struct spex_slices_reading slowed_sum;
    /* CPU time of the program in slices. And that of each with the rate in it as its weight, and what of it was the
     * program's own, by each guess of what hits took: most of a sum is from where there are most. */
    double gross, weighted, own[SPEX_COST_GUESSES];
    /* CPU time behind the last slice, which may have been a part of it. */
    double beyond;
    /* How many slices there were; and in how many hits took so much that they had to end before their time. */
    unsigned slices_taken, cuts;
    /* CPU time that hits in them took. */
    double slices_cost;
    /* Executions, and what they cost, for each second of the program's CPU time, by the last look; at least
     * so many, where they cost most of that time. And their part of the time while it is on. */
    double rate, share, taken;
    bool at_least;
    /* When it was last looked at while it was on, and its executions then. */
    struct spex_attached_time looked;
    uint64_t count_looked;
    /* When the next slice is due, or the end of one that is long; how long it is to be, but for what hits take; and what
     * they may take at most. */
    double due, length, most;
    /* Executions that begin later are not looked at, as its slice is over, though it may be on for a while.
     * 0: it is not. */
    uint64_t over_ns;
    /* How many slices on end have told that it would fit into the budget; and how often it was on all the time again. */
    unsigned calm, returns;
    /* Records of it that were lost; and for how many executions one stands now. */
    uint64_t lost;
    double weight;
};

struct spex_attachment {
    struct spex_attachment_options options;
    const struct spex_program *program;
    const struct spex_function_choices *choices;
    struct spex_process_functions functions;
    struct spex_attached_function *of;
    size_t count;
    struct spex_hit_costs costs;
    struct spex_sites *sites;
    size_t site_count;
    /* For each site the number of its function. */
    uint32_t *site_functions;
    struct spex_pairing *pairing;
    struct spex_tracer *tracer;
    /* Two for each function: its times and its arguments. */
    struct spex_profile_row *rows;
    /* One for each row. */
    struct spex_profile_site *told_sites;
    struct spex_profile_type types[3];
    struct spex_random random;
    /* When it began, and its own CPU time then. */
    struct spex_attached_time begin;
    double own_begin;
    /* When the program's CPU time was last asked for, and how many CPUs it has used before. */
    struct spex_attached_time asked;
    double cpus;
    /* What hits have cost that were not counted, of sites that linger. */
    double lingered;
    /* What may still be spent; and what the program had used, and probes had cost, when that was
     * reckoned. */
    double tokens, cpu_reckoned, spent_reckoned;
    /* What passes have taken of this process's CPU time in which nothing was switched, how many those were, and what this
     * process had used, and how often something was switched on or off, when the last one began. */
    double passes_cost, own_last;
    uint64_t passes, switchings, switchings_last;
    /* What others have taken beyond that, and how often something was switched in them. */
    double switchings_cost;
    uint64_t switchings_seen;
    /* What the last look at the program's files has taken of it. */
    double look_cost;
    bool settled;
    /* When the last function was switched on for the first time. */
    double started;
    /* When the files were last looked at, and what they were. */
    double looked;
    uint64_t files;
    /* When there was the last look at the functions that are on all the time. */
    double looked_on;
    uint64_t produced, lost;
    /* Functions of globs that have breakpoints, as what was asked for cannot be. */
    size_t on_breakpoints;
    /* Slots and patches that could not be taken back in the end. */
    size_t left;
};

static inline bool spex_attached_is_timed(const struct spex_attached_function *one) {
    return one->sites > one->counting;
}

double spex_attached_now(void);

/* The time now. */
struct spex_attached_time spex_attached_time(const struct spex_attachment *attachment);

/* Asks for the program's CPU time, if the last time is so long ago that a tick does not matter, or in
 * any case. Not while a slice goes on. */
void spex_attached_ask(struct spex_attachment *attachment, bool now);

/* What hits that were counted have cost, by a guess. */
double spex_attached_spent(const struct spex_attachment *attachment, unsigned guess);

/* What it has cost since the begin: the program, and this process. */
double spex_attached_spent_all(const struct spex_attachment *attachment);

/* This process's CPU time since then. */
double spex_attached_own(const struct spex_attachment *attachment);

uint64_t spex_attached_executions(const struct spex_attachment *attachment,
                                  const struct spex_attached_function *one);

/* Switches a function on or off; or on for a slice, a long one, or one that is waited for. 0 or a negative errno value. */
int spex_attached_switch_on(struct spex_attachment *attachment, size_t f, struct spex_error *error);
void spex_attached_switch_off(struct spex_attachment *attachment, size_t f);
int spex_attached_begin_slice(struct spex_attachment *attachment, size_t f,
                              struct spex_error *error);
int spex_attached_take_slice(struct spex_attachment *attachment, size_t f,
                             struct spex_error *error);

/* Sets the rate by what was counted since the last look, or since the function was switched on. */
void spex_attached_look(struct spex_attached_function *one, const struct spex_attached_time *now,
                        uint64_t count);

/* Takes into account that a function was on until then, with its executions, or off. `used`: CPU time of the program
 * meanwhile; negative: as much as on average. */
void spex_attached_note_off(struct spex_attachment *attachment, size_t f,
                            const struct spex_attached_time *time, uint64_t count, double used);
void spex_attached_note_held(struct spex_attached_function *one,
                             const struct spex_attached_time *until);

/* By how much its rate may differ from what it seems by the likely cost of hits. Without an upper bound `most` is INFINITY. */
struct spex_speedup spex_attached_speedup(const struct spex_attached_function *one);

/* One line or two about what would tell more. */
void spex_attached_advise(const struct spex_attachment *attachment, void (*say)(const char *line));

/* Pairs the records that there are, and takes their times in. */
void spex_attached_take_records(struct spex_attachment *attachment);

/* Decides which functions are on all the time, and which in slices. */
void spex_attached_settle(struct spex_attachment *attachment);

/* Takes functions out of those that are on all the time, the costliest first, until the rest fits, by what
 * was spent on each since it was switched on. For the start: not all are watched for long yet. False: they do not
 * fit, but none has cost so much yet that switching it off would be cheaper than to look on. */
bool spex_attached_trim(struct spex_attachment *attachment);

/* Slices in seconds: one that is shorter tells too little beside what switching takes; for one that is not longer than
 * the second the main thread waits. */
#define SPEX_SLICE_LEAST  0.0005
#define SPEX_SLICE_WAITED 0.01

/* What switching a function on and off takes of CPU time. */
double spex_attached_switching(const struct spex_attachment *attachment,
                               const struct spex_attached_function *one);

/* Notes that a pass begins; what one takes of this process's CPU time; and the seconds until the next one. */
void spex_attached_note_pass(struct spex_attachment *attachment);
/* The seconds from one time to the next of what takes so much of this process's CPU time: it may take a tenth of what may
 * be spent, but is done as often, or as seldom, as that. */
double spex_attached_seconds_between(const struct spex_attachment *attachment, double cost,
                                     double least, double most);
double spex_attached_pass_cost(const struct spex_attachment *attachment);
double spex_attached_pass_seconds(const struct spex_attachment *attachment);

/* What passes take, for each second of the program's CPU time. */
double spex_attached_pass_share(const struct spex_attachment *attachment);

/* For how many seconds it is meant to last, as far as that is reckoned with; and whether it may be so many. */
double spex_attached_lasts(const struct spex_attachment *attachment);
bool spex_attached_may_last(double seconds);

/* CPU time that switching functions on for the first time may take; and leaves out those found last for which that is not
 * enough. */
double spex_attached_granted_at_first(const struct spex_attachment *attachment);
void spex_attached_limit(struct spex_attachment *attachment);

/* Decides on a function's next slice; and whether so few can be had that they would tell nothing. */
void spex_attached_plan(struct spex_attachment *attachment, size_t f);
/* In how many seconds there are slices of a function that tell something. */
double spex_attached_slices_seconds(const struct spex_attachment *attachment,
                                    const struct spex_attached_function *one);
bool spex_attached_is_hopeless(const struct spex_attachment *attachment,
                               const struct spex_attached_function *one);

/* Has each function that is on wake this process when it has cost more than can be borne. False: one has already. */
bool spex_attached_set_alarms(struct spex_attachment *attachment);

/* Slices that are due; and the seconds until the next one is. */
void spex_attached_pass_slices(struct spex_attachment *attachment);
double spex_attached_next_slice(const struct spex_attachment *attachment);

#endif
