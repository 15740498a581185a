/* SPDX-License-Identifier: MIT */
/* An answer of the control socket. Its frames are made one at a time, when the reader takes them,
 * so that a slow reader costs no memory. */
#ifndef SPEX_SERVE_REPLY_H
#define SPEX_SERVE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/control_format.h"

struct spex_reply {
    uint32_t number;   /* of the request */
    uint16_t next;     /* enum spex_control_kind of the next frame; 0: the answer is complete */
    bool of_process;   /* no frame follows PROCESS but DONE */
    uint32_t flags;    /* of DONE */
    uint32_t position; /* in types, sites or probes */
    uint32_t part;     /* of the probe at `position`, the next: of each series its values, losses */
    uint32_t scale;    /* of the values that were sent last */
    int32_t status;
    uint32_t next_ms; /* of DONE */
    char text[SPEX_CONTROL_ANSWER_BYTES];
};

/* An answer of DONE alone; its text is to be filled in. */
void spex_reply_done(struct spex_reply *reply, uint32_t number, int status);

/* The profile of this process, or what it begins with. */
void spex_reply_profile(struct spex_reply *reply, uint32_t number, bool final);
void spex_reply_status(struct spex_reply *reply, uint32_t number);

/* Writes the next frame; returns its bytes, 0 when the answer is complete. Sets *after to what is
 * left of the answer behind that frame: the caller replaces the reply by it once the frame is
 * sent. */
size_t spex_reply_frame(const struct spex_reply *reply, struct spex_reply *after,
                        char frame[SPEX_CONTROL_FRAME_BYTES]);

#endif
