/* SPDX-License-Identifier: MIT */
/* Checks, completes and copies a space that a program gives in C. */
#ifndef SPEX_TUNE_OWN_SPACE_H
#define SPEX_TUNE_OWN_SPACE_H

#include <spex/policy.h>

#include "text/error.h"

struct spex_own_space {
    struct spex_space space;
    /* A selection of the criteria's probes. */
    char *probes;
};

/* 0; -EINVAL or -ENOMEM with `error`. */
int spex_own_space_make(const struct spex_space *given, struct spex_own_space **out,
                        struct spex_error *error);
void spex_own_space_free(struct spex_own_space *own);

#endif
