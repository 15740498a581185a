/* SPDX-License-Identifier: MIT */
/* How many descriptors are open in the process, with the one that counts them. */
#ifndef SPEX_TEST_OPEN_DESCRIPTORS_H
#define SPEX_TEST_OPEN_DESCRIPTORS_H

#include <dirent.h>

#include "check.h"

static inline size_t open_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

#endif
