/* SPDX-License-Identifier: MIT */
#ifndef QUEUE_PROBES_H
#define QUEUE_PROBES_H

enum {
    ITEM = 1, /* taken out of the queue and worked on */
    PUT,      /* a batch brought into the queue, waiting for room included */
    TAKE,     /* a batch taken out, waiting for one included */
    DELAY,    /* nanoseconds that an item was in the queue; items that it was taken with */
};

#endif
