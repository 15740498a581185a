/* SPDX-License-Identifier: MIT */
/* A sink that keeps the records, for what a test has recorded itself. */
#ifndef SPEX_TEST_SEEN_H
#define SPEX_TEST_SEEN_H

#include "../capture.h"
#include "../check.h"

enum { RECORDS_MAX = 4096 };

static struct spex_record seen[RECORDS_MAX];
static size_t seen_count;

static inline void see(const struct spex_record *record, void *context) {
    (void)context;
    assert_true(seen_count < RECORDS_MAX);
    seen[seen_count++] = *record;
}

/* From none on. */
static inline void seen_start(void) {
    seen_count = 0;
    capture_start(see, NULL);
}

#endif
