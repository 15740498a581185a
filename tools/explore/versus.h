/* SPDX-License-Identifier: MIT */
/* `spex explore A B`: which of two commands is better, without any parameter. */
#ifndef SPEX_TOOLS_EXPLORE_VERSUS_H
#define SPEX_TOOLS_EXPLORE_VERSUS_H

#include <stdbool.h>

#include <spex/policy.h>

#include "harness/pairs.h"
#include "tools/common/options.h"

struct spex_versus_options {
    const char *commands[2]; /* lines for /bin/sh */
    const struct spex_option_texts *goals;
    double seconds; /* 0: a minute */
    bool duet, json;
    int stop_fd;
};

/* The figures of a command's runs. */
struct spex_versus_side {
    const char *command;
    double *values;
    size_t count, room;
};

/* What has been measured. */
struct spex_versus {
    const struct spex_criterion *criterion;
    struct spex_versus_side sides[2];
    struct spex_pairs pairs;
    bool duet;
    double seconds; /* that the pairs have taken */
    /* Of --duet: the logarithm of A's figure beside another run of A to that alone, in so many
     * comparisons. */
    struct spex_estimate beside;
    size_t beside_count;
};

/* Compares, and prints what has come of it. An exit status. */
int spex_versus(const struct spex_versus_options *options);

/* Prints the figures and the ratio, and tells who is better, on standard error. 0; -ENOMEM, or what
 * spex_written says. */
int spex_versus_print(struct spex_versus *versus, bool json);

#endif
