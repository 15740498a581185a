/* SPDX-License-Identifier: MIT */
/* A process that is recorded: its two connections, one with records and one with profiles, and its
 * trace. */
#ifndef SPEX_TOOLS_RECORD_RECORDED_H
#define SPEX_TOOLS_RECORD_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/caller.h"
#include "tools/record/flight.h"
#include "trace/trace.h"
#include "wire/stream_records.h"

struct spex_recorded {
    struct spex_recorded *next;
    pid_t process;
    /* -1: it is not known whether the process runs. */
    int pidfd;
    /* The connection that profiles come over; its socket is -1 while there is none. */
    struct spex_caller caller;
    bool called;
    /* The connection that records come over; -1: none. */
    int stream;
    bool streamed;
    /* When the stream began, by the program's ticks: another connection of the same stream goes on
     * with it. 0: there is no other one. */
    uint64_t begun;
    /* The next frame is the first of a connection. */
    bool fresh;
    /* The stream has ended before the program has stopped spex. */
    bool torn;
    /* The trace is of all records that the profiles tell of: the program was started to be
     * recorded. */
    bool whole;
    /* The child of a fork, whose part of the lease (held_lease.h) is renewed over its connection;
     * when that is due, CLOCK_MONOTONIC. */
    bool follows;
    uint64_t renewal_ns;
    /* The stream has come to an orderly end. */
    bool complete;
    /* What the stream has told of its sites. */
    struct spex_stream_probes probes;
    /* NULL: the process's rings are its own. */
    struct spex_remains *remains;
    /* Either of them, from the first frame on. */
    struct spex_trace *trace;
    struct spex_flown *flown;
    /* What the stream has told. */
    uint32_t collectors;
    uint32_t sites;
    uint64_t watermarks[SPEX_MAX_COLLECTORS];
    uint64_t lost_before;
    uint64_t received;
    /* The frames of a profile that is coming, or of one that has come before the trace. */
    char *frames;
    bool frames_whole;
    size_t frame_bytes;
    size_t frame_room;
};

/* What the traces of all processes have in common, and what they come to. */
struct spex_recording {
    const char *directory;
    struct spex_trace_limits limits;
    struct spex_trace_disk disk;
    struct spex_flight flight;
    struct spex_recorded *first;
    /* Of the processes that have ended. */
    struct spex_trace_totals totals;
    unsigned traces;
    uint64_t unfollowed;
    /* Why recording has ended for all, as the disk is full; 0: it has not. */
    int err;
};

/* A new entry for a process; NULL: no memory. */
struct spex_recorded *spex_recorded_add(struct spex_recording *recording, pid_t process);

/* Gives it a connection, which it owns from here on: of profiles, of records. */
void spex_recorded_call(struct spex_recorded *recorded, int socket);
void spex_recorded_stream(struct spex_recorded *recorded, int socket);

/* Whether the process is known to run. */
bool spex_recorded_runs(const struct spex_recorded *recorded);

/* Whether the process may connect again: it goes on, and has not stopped spex. A program that closes
 * all descriptors closes spex's, maybe before it has made the second connection. */
bool spex_recorded_may_return(const struct spex_recorded *recorded);

/* Gives `recorded` the connection with profiles that the same program has opened again, and forgets
 * `again`, which had it. */
void spex_recorded_join(struct spex_recording *recording, struct spex_recorded *recorded,
                        struct spex_recorded *again);

/* Asks the child of a fork for profiles once its records come. */
void spex_recorded_follow(struct spex_recorded *recorded);

/* Has the child of a fork go on with what `holder` has leased of its parent, when it is time for
 * that; `ms` 0: ends it at once. */
void spex_recorded_renew(struct spex_recorded *recorded, uint32_t holder, uint32_t ms);

/* Takes what has come over each of the connections, without waiting and within limits. True: there
 * may be more. */
bool spex_recorded_take_profiles(struct spex_recorded *recorded);
bool spex_recorded_take_records(struct spex_recording *recording, struct spex_recorded *recorded);

/* Ends the trace, and forgets the process. */
void spex_recorded_end(struct spex_recording *recording, struct spex_recorded *recorded);

#endif
