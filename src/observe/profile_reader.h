/* SPDX-License-Identifier: MIT */
/* Puts profiles together from the frames of a control socket, none of which is trusted. */
#ifndef SPEX_OBSERVE_PROFILE_READER_H
#define SPEX_OBSERVE_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "text/error.h"
#include "wire/control_format.h"

/* Takes a row of a profile, whose other rows may not have come. 0 or a negative errno value. */
typedef int spex_profile_row_taker(void *user, const struct spex_profile *profile,
                                   const struct spex_profile_row *row);

/* All zero is an empty reader. */
struct spex_profile_reader {
    /* The caller's: values are not kept, which may take a gigabyte of a hostile answer. */
    bool without_values;
    /* The caller's: it has asked for the status alone, a profile without types, sites and rows. */
    bool of_process;
    /* The caller's: whose memory is taken for profiles; NULL: nobody's. */
    struct spex_share *share;
    /* The caller's: gets each row once its values have come. Then no rows are kept, and of sites
     * those alone that name values of snapshots, 4,096 at most. NULL: all are. It holds from the next report on. Its error is that of the reader. */
    spex_profile_row_taker *row;
    void *user;
    /* Takes the rows of the present report, which are not kept then; NULL: they are kept. */
    spex_profile_row_taker *taker;
    /* The profile that is being received, and how many series of values its rows have. */
    struct spex_profile incoming;
    size_t values;
    /* Its PROCESS, with which a profile begins, has come. */
    bool begun;
    /* The last complete profile, if `complete`; the program sends no other if `final`. */
    struct spex_profile profile;
    bool complete;
    bool final;
    /* The last answer: what was selected matches no probe that is there. */
    bool unmatched;
    /* The next report comes so many milliseconds after the last one at least; 0: as asked for. */
    uint32_t next_ms;
    /* The status of the last answer, the number of its request, and its text. */
    int32_t status;
    uint32_t number;
    char text[SPEX_CONTROL_ANSWER_BYTES];
};

void spex_profile_reader_free(struct spex_profile_reader *reader);

/* Forgets an answer of which frames have come: the next frame is of another connection. */
void spex_profile_reader_restart(struct spex_profile_reader *reader);

/* Takes a packet of frames. 1: an answer is complete. 0: more frames of it come. -EPROTO,
 * -EPROTONOSUPPORT, -ENOMEM, or -EDQUOT where it takes more memory than its user may have, with the
 * reason. Texts of the program are made printable. */
int spex_profile_reader_take(struct spex_profile_reader *reader, const char *packet, size_t bytes,
                             struct spex_error *error);

/* Frees what a profile points to, and makes it empty. */
void spex_profile_free(struct spex_profile *profile);

#endif
