/* SPDX-License-Identifier: MIT */
/* Functions to measure hits on: for each kind of hit and each task of a site one. */
#ifndef SPEX_ATTACH_TEST_FUNCTIONS_H
#define SPEX_ATTACH_TEST_FUNCTIONS_H

#include "attach/kind.h"

struct spex_test_function {
    void (*call)(void);
    /* Its return. */
    const void *end;
};

/* `call` is NULL: this processor has no such hits. */
struct spex_test_function spex_test_function_of(enum spex_hit hit, enum spex_site_task task);

#endif
