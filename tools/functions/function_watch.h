/* SPDX-License-Identifier: MIT */
/* Looks at functions of a running program for a while: what the commands that do so have in common. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_WATCH_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/attachment.h"
#include "base/deadline.h"
#include "observe/held_launch.h"
#include "tools/functions/function_search.h"

/* The budget, where none is said. */
#define SPEX_FUNCTIONS_BUDGET 0.02

/* For ever. */
#define SPEX_FUNCTIONS_SECONDS 1e9

struct spex_function_watch_request {
    /* The name of the command, for messages. */
    const char *command;
    pid_t process;
    /* As users write them; and whether all are timed, however they are written. */
    const char *functions;
    bool timed;
    double budget, seconds;
    /* NULL, or a program that is held: it goes on when all functions are on. */
    const struct spex_launched *held;
    /* Ends it when it becomes readable; or, if it is not NULL, when `stopped` says so then. */
    int stop_fd;
    bool (*stopped)(void *stopping);
    void *stopping;
    /* Nothing is said of what functions cost, for want of a place. */
    bool quiet;
    /* NULL, or as those of spex_attachment_options. */
    void (*execution)(void *user, const struct spex_function_execution *execution);
    void (*record)(void *user, const struct spex_record *record);
    void *user;
};

struct spex_function_watch {
    const struct spex_function_watch_request *request;
    struct spex_program program;
    struct spex_function_choices choices;
    struct spex_attachment *attachment;
    struct spex_wanted_search wanted;
    struct spex_function_search search;
    struct spex_deadline end;
    bool settled;
};

/* Finds the functions, and tells those that cannot be looked at. `request` is kept. To be closed in any case. An exit
 * status, after a message. */
int spex_function_watch_open(struct spex_function_watch *watch,
                             const struct spex_function_watch_request *request);
void spex_function_watch_close(struct spex_function_watch *watch);

/* Does what is due. Returns the milliseconds until the next thing is, or sooner by an alarm. */
int spex_function_watch_pass(struct spex_function_watch *watch);

/* Does what is due, and waits until the next thing is. False: it is over, as the program has ended, the time is up, or
 * somebody wants it to stop. */
bool spex_function_watch_goes_on(struct spex_function_watch *watch);

/* What there is to say in the end, but for what was said before: as spex_attachment_tell. */
void spex_function_watch_tell(const struct spex_function_watch *watch);

#endif
