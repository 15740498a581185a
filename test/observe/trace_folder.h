/* SPDX-License-Identifier: MIT */
/* A folder for the traces of one test. */
#ifndef SPEX_TEST_TRACE_FOLDER_H
#define SPEX_TEST_TRACE_FOLDER_H

#include "../check.h"

static char folder[64];

static inline int folder_begin(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spex-traces-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_end(void **state) {
    char command[96];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

#endif
