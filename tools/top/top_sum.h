/* SPDX-License-Identifier: MIT */
/* Tables of the sums of all processes of a program. */
#ifndef SPEX_TOOLS_TOP_TOP_SUM_H
#define SPEX_TOOLS_TOP_TOP_SUM_H

#include <stdbool.h>

#include "observe/workers.h"
#include "profile/profile.h"

struct spex_top_summed {
    struct spex_workers_of of;
    /* Seconds. */
    double interval;
    /* Figures are totals, since the first process has started spex. */
    bool totals;
    bool verbose; /* tables with all notes */
    /* Tables; 0: no limit. */
    unsigned long count;
};

/* Prints a table for each interval, until no process of the program is left. An exit status. */
int spex_top_sum(const struct spex_top_summed *summed);

/* Prints a table of figures below a line that says of what they are: "nginx", "4 processes". 0, or
 * the negative errno value of writing. */
int spex_top_print(const char *command, const char *of, const struct spex_profile *figures,
                   bool verbose);

#endif
