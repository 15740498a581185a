/* SPDX-License-Identifier: MIT */
/* A process that can open hardly any more descriptors. */
#ifndef SPEX_TEST_SCARCE_DESCRIPTORS_H
#define SPEX_TEST_SCARCE_DESCRIPTORS_H

#include <sys/resource.h>

#include "check.h"

struct scarce_descriptors {
    struct rlimit before;
    int filling[64], count;
};

/* From now on `left` more can be opened. */
static inline void descriptors_take(struct scarce_descriptors *scarce, int left) {
    int first = dup(0);
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &scarce->before), 0);
    struct rlimit few = scarce->before;
    few.rlim_cur = (rlim_t)first + 8;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    scarce->count = 0;
    while (scarce->count < 64 && (scarce->filling[scarce->count] = dup(0)) >= 0)
        scarce->count++;
    for (; left > 0 && scarce->count > 0; left--)
        close(scarce->filling[--scarce->count]);
}

static inline void descriptors_give_back(struct scarce_descriptors *scarce) {
    while (scarce->count > 0)
        close(scarce->filling[--scarce->count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &scarce->before), 0);
}

#endif
