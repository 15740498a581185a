/* SPDX-License-Identifier: MIT */
/* Spaces from text, for tests of what is done with them. */
#ifndef SPEX_TEST_SPACES_H
#define SPEX_TEST_SPACES_H

#include "../check.h"
#include "explore/space/space.h"

static inline struct spex_space_file *space_of(const char *xml) {
    struct spex_space_file *file;
    struct spex_error why = {""};
    if (spex_space_parse("made", xml, &file, &why))
        fail_msg("%s", why.text);
    return file;
}

#endif
