/* SPDX-License-Identifier: MIT */
/* A folder for the traces of one test. */
#ifndef SPEX_TEST_TRACE_FOLDER_H
#define SPEX_TEST_TRACE_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_begin, folder_end)

#endif
