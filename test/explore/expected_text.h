/* SPDX-License-Identifier: MIT */
/* Whole texts against what stands in expected/. What was written instead is left in the file that a
 * failure names. */
#ifndef SPEX_TEST_EXPECTED_TEXT_H
#define SPEX_TEST_EXPECTED_TEXT_H

#include "scratch.h"

static inline void expect_file(const char *name, const char *text) {
    char path[512], expected[1 << 16] = "", wrong[512];
    snprintf(path, sizeof(path), EXPECTED "/%s", name);
    FILE *file = fopen(path, "re");
    if (file) {
        expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
        fclose(file);
    }
    if (strcmp(text, expected) == 0)
        return;
    snprintf(wrong, sizeof(wrong), "/tmp/spex-%s", name);
    scratch_write(wrong, text, strlen(text));
    fail_msg("%s differs from %s", wrong, path);
}

#endif
