/* SPDX-License-Identifier: MIT */
/* A space that is given in C: checked, completed and copied. */
#ifndef SPEX_TUNE_OWN_SPACE_H
#define SPEX_TUNE_OWN_SPACE_H

#include <spex/policy.h>

#include "text/error.h"

struct spex_own_space {
    struct spex_space space;
    char *probes; /* of the criteria */
};

/* 0; -EINVAL with the reason, or -ENOMEM. */
int spex_own_space_make(const struct spex_space *given, struct spex_own_space **out,
                        struct spex_error *why);
void spex_own_space_free(struct spex_own_space *own);

#endif
