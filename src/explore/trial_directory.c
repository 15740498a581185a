/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/trial_directory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* In the place for temporary files, with 64 random bits. The path is absolute, since the explored
 * program may change its working directory. */
int spex_trial_directory_name(char **directory, struct spex_error *error) {
    const char *parent = secure_getenv("TMPDIR");
    uint64_t number;
    parent = parent && *parent ? parent : "/tmp";
    char *whole = realpath(parent, NULL); /* see above */
    if (!whole || getrandom(&number, sizeof(number), 0) != sizeof(number)) {
        free(whole);
        return spex_fail(error, -errno, "cannot make a directory in %s: %s", parent,
                         strerror(errno));
    }
    if (asprintf(directory, "%s/spex-%016" PRIx64, whole, number) < 0)
        *directory = NULL;
    free(whole);
    return *directory ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}
