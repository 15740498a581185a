/* SPDX-License-Identifier: MIT */
/* `spex explore --set …` and `spex explore --pool …`: an exploration whose space is made of options. */
#ifndef SPEX_TOOLS_EXPLORE_SET_EXPLORE_H
#define SPEX_TOOLS_EXPLORE_SET_EXPLORE_H

#include "tools/common/options.h"

struct spex_set_explore {
    const struct spex_option_texts *sets, *goals, *services, *readies;
    const char *pool;
    char *const *argv;
    const char *prior;                /* NULL: none */
    const char *finals, *zone, *sure; /* NULL: as the policy has it */
    const char *store;                /* NULL: explore-PROGRAM.db */
    double seconds;                   /* --for; 0: none */
    int stop_fd;

    /* What is made: both paths are to be freed. */
    char *store_path, *space_path;
};

/* Makes the space and keeps it beside the store, so that it can be changed and explored as any other,
 * and the same command goes on with it. Tells what the exploration will take. An exit status, after
 * a message unless it is SPEX_EXIT_OK. */
int spex_set_explore_prepare(struct spex_set_explore *set);

#endif
