/* SPDX-License-Identifier: MIT */
/* A dormant program: it has called spex_start, has one thread, and no probe is on. A thread that
 * waited for commands would end what the C library spares programs of one thread, such as the locks
 * of putc and malloc. So none waits, and a command calls the program by its memory:
 *
 *   command                                     program
 *   reads struct spex_dormant       ◄────────   made by spex_start
 *   connects to the control socket
 *   writes SPEX_CONTROL_CALLED to   ────────►   the next execution of one of these probes calls the
 *   the control words of its sites              library, which starts the thread
 *   sends its request               ────────►   the thread accepts the connection
 *
 * The structure stands in the section `spex_dormant` of the program's file, whose address a command
 * finds there. The execute bit of the control socket's file says that it holds (a socket is not
 * executed). Only control words of objects that are never unloaded are written. Numbers are in host
 * byte order. */
#ifndef SPEX_WIRE_DORMANT_H
#define SPEX_WIRE_DORMANT_H

#include <stdint.h>

#include "profile/profile.h"

#define SPEX_DORMANT_SECTION "spex_dormant"
#define SPEX_DORMANT_MAGIC   "spexdorm"
#define SPEX_DORMANT_VERSION 1

/* Most objects with probes of a dormant program. */
enum { SPEX_DORMANT_OBJECTS = 32 };

enum spex_dormant_state {
    SPEX_DORMANT_NEVER, /* a thread waits, or nobody does */
    SPEX_DORMANT_NOW,
    SPEX_DORMANT_WAKES,   /* one of its threads is starting the thread */
    SPEX_DORMANT_STOPPED, /* the program has stopped spex while it was dormant */
};

struct spex_dormant {
    char magic[8]; /* without a 0 at its end */
    uint32_t version;
    /* enum spex_dormant_state. Written by the program. */
    uint32_t state;
    /* As the process itself sees it. The child of a fork has its parent's. */
    uint32_t process_id;
    /* Filters of system calls that the process had at the start: one that came later may end it
     * when a thread starts. */
    uint32_t filters;
    /* Sites of probes. */
    uint32_t sites;
    uint64_t loaded_ns; /* CLOCK_MONOTONIC */
    /* When a command had written all control words, CLOCK_MONOTONIC; 0: none has. Written by the
     * command. */
    uint64_t called_ns;
    /* The program's name, with a 0 at its end. */
    char command[SPEX_PROFILE_NAME_BYTES];
    uint32_t reserved;
    uint32_t object_count;
    /* The addresses of their sites. */
    struct {
        uint64_t begin, end;
    } objects[SPEX_DORMANT_OBJECTS];
};

/* How many filters of system calls a process has, by its /proc/PID/status: both ends compare these
 * numbers. SPEX_DORMANT_FILTERS_UNKNOWN: it does not tell. */
#define SPEX_DORMANT_FILTERS_UNKNOWN UINT32_MAX
uint32_t spex_dormant_filters(const char *status);

#endif
