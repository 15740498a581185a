/* SPDX-License-Identifier: MIT */
#ifndef ALLOCATE_PROBES_H
#define ALLOCATE_PROBES_H

enum {
    OPERATION = 1, /* one object allocated, used, and another freed */
    RECEIVE,       /* objects of another thread freed */
    FOOTPRINT,     /* resident memory of the process in KB */
};

#endif
