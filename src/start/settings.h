/* SPDX-License-Identifier: MIT */
/* Settings of spex_start: from options and environment, of which the environment wins; checked. */
#ifndef SPEX_START_SETTINGS_H
#define SPEX_START_SETTINGS_H

#include <stdbool.h>

#include <spex/rate_policy.h>
#include <spex/spex.h>

#include "base/descriptor.h"
#include "queues/ring.h"
#include "rate/policy_object.h"

struct spex_settings {
    /* NULL: no selection. */
    const char *probes;              /* NULL: no selection */
    const char *functions;           /* NULL: none are to be kernels */
    const char *out;                 /* NULL: standard error */
    struct spex_descriptor handover; /* of the command that `out` names; spex_command_socket */
    double budget;                   /* share of its time that a program lets probes have; 0: any */
    double thread_budget; /* share of any 10 ms that a thread lets its records have; 0: any */
    const struct spex_rate_policy_ops *rate_policy; /* how it is shared out */
    struct spex_shared_object rate_object;          /* where it is, if it was loaded */
    const char *models;                             /* a file; NULL: none */
    double samples;   /* an execution of a polled kernel, by the models */
    unsigned probing; /* looks a second at polled probes */
    unsigned collectors;
    unsigned ring_records;
    unsigned batch_records;
    /* 0: all. */
    unsigned ring_cpus;
    enum spex_commit commit;
    unsigned calibrate; /* 0 or 1 */
    unsigned verbose;   /* 0 or 1 */
    /* There is to be no control socket. */
    bool closed;
    /* The program calls spex_poll instead of having a thread wait for commands. */
    bool polls;
    unsigned waits; /* 0 or 1: a thread waits for commands from the start */
    /* Directory of the control socket. NULL: the first one that can be used. */
    const char *control;
    /* The child of a fork collects as its parent does. */
    bool follow;
};

/* 0, or -EINVAL with one line on standard error. The caller closes the rate policy's object. */
int spex_settings_read(const struct spex_options *options, struct spex_settings *settings);

#endif
