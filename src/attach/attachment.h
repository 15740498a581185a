/* SPDX-License-Identifier: MIT */
/* Functions of a running program that are counted and timed within a budget. Those that fit are on all
 * the time, and their counts are exact. Others are on in slices at times that chance chooses. */
#ifndef SPEX_ATTACH_ATTACHMENT_H
#define SPEX_ATTACH_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/calibrate.h"
#include "attach/process_functions.h"
#include "profile/profile.h"

struct spex_attachment;

/* An execution of a function that has ended. */
struct spex_function_execution {
    const struct spex_process_function *function;
    double seconds;
    /* In the order of the function's arguments. */
    const double *arguments;
    /* Executions that it stands for. */
    double weight;
    /* When it ended: seconds of CLOCK_MONOTONIC. */
    double end;
    uint32_t thread;
};

struct spex_attachment_options {
    const struct spex_kind_of_site *kind;
    /* The share of the program's CPU time that may be spent; 1: all that it takes. */
    double budget;
    /* For how long it is meant to last. */
    double seconds;
    const struct spex_function_search *search;
    /* Lines for the user, such as what a function would cost. */
    void (*say)(const char *line);
    /* NULL, or what takes executions that are timed, as they end. */
    void (*execution)(void *user, const struct spex_function_execution *execution);
    /* NULL, or what takes records as programs with spex make them: of times (LAT) at the end, of arguments (SNAPSHOT) at
     * the begin. A tick is a nanosecond of CLOCK_MONOTONIC; the probe's number is the function's. */
    void (*record)(void *user, const struct spex_record *record);
    void *user;
};

/* Finds the functions, and measures what hits cost. `program` and `choices` stay the caller's. 0 or a
 * negative errno value. Functions that cannot be looked at are no error. */
int spex_attachment_open(struct spex_attachment **opened,
                         const struct spex_attachment_options *options,
                         const struct spex_program *program,
                         const struct spex_function_choices *choices, struct spex_error *error);
/* Switches everything off. */
void spex_attachment_close(struct spex_attachment *attachment);

const struct spex_process_functions *spex_attachment_functions(
    const struct spex_attachment *attachment);

const struct spex_hit_costs *spex_attachment_costs(const struct spex_attachment *attachment);

/* Whether a function is still to be switched on for the first time. */
bool spex_attachment_waits(const struct spex_attachment *attachment);

/* Whether each function is on, in slices or refused, as it stays unless rates change. */
bool spex_attachment_is_settled(const struct spex_attachment *attachment);

/* Does what is due. Returns the milliseconds until it is to be called again, or sooner if `alarms`, a descriptor or -1, is
 * readable: a function is executed more often than was expected. */
int spex_attachment_pass(struct spex_attachment *attachment);
int spex_attachment_alarms(const struct spex_attachment *attachment);

/* Fills in what there is to tell, in the middle or in the end: then nothing is counted after that. The profile has pointers
 * into the attachment. */
void spex_attachment_profile(struct spex_attachment *attachment, struct spex_profile *profile);
void spex_attachment_end(struct spex_attachment *attachment, struct spex_profile *profile);

/* A line for each reason why functions are not looked at; `again`: also of those of which it has been said. */
void spex_attachment_tell_refused(struct spex_attachment *attachment, bool again,
                                  void (*say)(const char *line));

/* Lines about functions whose times are not all there, or which calls are missed. */
void spex_attachment_tell(const struct spex_attachment *attachment, void (*say)(const char *line));

/* Executions that were not recorded for want of room, of all functions. */
uint64_t spex_attachment_lost(const struct spex_attachment *attachment);

/* What an execution of a function costs, in nanoseconds: its beginning, and its end if it is timed. */
double spex_function_cost_ns(const struct spex_process_function *function,
                             const struct spex_hit_costs *costs);

#endif
