/* SPDX-License-Identifier: MIT */
/* Puts a profile together from the frames of a control socket, of which it trusts none. */
#ifndef SPEX_OBSERVE_PROFILE_READER_H
#define SPEX_OBSERVE_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "wire/control_format.h"

struct spex_profile_reader {
    struct spex_profile incoming;
    size_t values;               /* of all its rows */
    struct spex_profile profile; /* the last that was complete */
    bool complete;               /* there is one */
    bool final;                  /* and no other will come */
    int32_t status;              /* of the last answer, */
    uint32_t number;             /*   and its request's number */
    char text[SPEX_CONTROL_ANSWER_BYTES];
};

/* All zero is an empty reader. */
void spex_profile_reader_free(struct spex_profile_reader *reader);

/* Takes one frame. 1 when it ends an answer; 0 when there is more; -EPROTO, -EPROTONOSUPPORT or -ENOMEM, with the
 * reason. Texts of the program are made printable. */
int spex_profile_reader_take(struct spex_profile_reader *reader, const char *frame, size_t bytes,
                             char *why, size_t why_size);

/* Frees what a profile points to. */
void spex_profile_free(struct spex_profile *profile);

/* What happened between two profiles of one process, into `difference`, to be freed. 0 or -ENOMEM. */
int spex_profile_since(const struct spex_profile *now, const struct spex_profile *before,
                       struct spex_profile *difference);

#endif
