/* SPDX-License-Identifier: MIT */
/* What tests of the listening socket share. */
#ifndef SPEX_TEST_LISTENING_H
#define SPEX_TEST_LISTENING_H

#include "serving.h"

enum { NOBODY = 65534 };

#define SKIP_WITHOUT_ROOT()                                                                        \
    if (geteuid() != 0) {                                                                          \
        print_message("SKIP: only root can become another user\n");                                \
        skip();                                                                                    \
    }

static inline const char *own_name(void) {
    static char name[SPEX_CONTROL_NAME_BYTES];
    spex_control_name(name);
    return name;
}

static inline const char *in_directory(const char *name) {
    static char path[SPEX_CONTROL_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", serving_directory, name);
    return path;
}

#endif
