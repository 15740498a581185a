/* SPDX-License-Identifier: MIT */
/* Settings of spex_start: from options and environment, of which the environment wins; checked. */
#ifndef SPEX_START_SETTINGS_H
#define SPEX_START_SETTINGS_H

#include <stdbool.h>

#include <spex/rate_policy.h>
#include <spex/spex.h>

#include "queues/ring.h"
#include "rate/policy_object.h"

struct spex_settings {
    /* NULL: no selection. */
    const char *probes;
    /* Functions that become kernels. NULL: none. */
    const char *functions;
    /* NULL: standard error. */
    const char *out;
    /* Share of the program's time that probes may take. 0: no limit. */
    double budget;
    /* Share of any 10 ms that the records of a thread may take. 0: no limit. */
    double thread_budget;
    /* The policy that divides the budget among the probes. */
    const struct spex_rate_policy_ops *rate_policy;
    /* The object that the policy was loaded from; empty for a built-in one. */
    struct spex_shared_object rate_object;
    /* The file with models of kernels. NULL: none. */
    const char *models;
    /* Samples of each execution of a polled kernel that has a model. */
    double samples;
    /* Looks at polled probes, a second. */
    unsigned probing;
    unsigned collectors;
    unsigned ring_records;
    unsigned batch_records;
    /* 0: all. */
    unsigned ring_cpus;
    enum spex_commit commit;
    bool calibrate;
    /* There is to be no control socket. */
    bool closed;
    /* Directory of the control socket. NULL: the first one that can be used. */
    const char *control;
    /* The child of a fork collects as its parent does. */
    bool follow;
};

/* 0, or -EINVAL with one line on standard error. The caller closes the rate policy's object. */
int spex_settings_read(const struct spex_options *options, struct spex_settings *settings);

#endif
