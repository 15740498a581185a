/* SPDX-License-Identifier: MIT */
/* Format of the control socket: a Unix-domain SOCK_SEQPACKET socket, in host byte order (both ends are
 * on one machine, though maybe of different releases). A packet holds one request, or frames of an
 * answer, as many as there is room for.
 *
 *   command ──► SELECT text          ──► DONE status, text
 *           ──► MODELS text          ──► the same
 *           ──► FOLLOW text          ──► the same
 *           ──► LEASE text           ──► the same
 *           ──► LEASE_BUDGET text    ──► the same
 *           ──► RENEW interval       ──► the same
 *           ──► BUDGET text          ──► the same
 *           ──► DUMP text            ──► the same
 *           ──► STATUS               ──► PROCESS DONE
 *           ──► PROFILE              ──► PROCESS TYPES… SITES… (PROBE (VALUES SPREAD)…)… DONE
 *           ──► SUBSCRIBE interval   ──► the same at each interval; at last with FINAL
 *           ──► STREAM types         ──► frames of a stream (stream_format.h) from here on, or
 *                                        DONE status, text
 *           ──► STREAM_FOLLOW types  ──► the same
 *
 * A client's next request is read when the answer to the last one is complete. Structures only grow
 * at the end; `entry_bytes` is their size at the sender. */
#ifndef SPEX_WIRE_CONTROL_FORMAT_H
#define SPEX_WIRE_CONTROL_FORMAT_H

#include <stdint.h>

#include "profile/profile.h"

#define SPEX_CONTROL_MAGIC       0x43505853u /* "SXPC" */
#define SPEX_CONTROL_VERSION     3
#define SPEX_CONTROL_FRAME_BYTES 65536

/* Most bytes of a request's text, and of an answer's. */
#define SPEX_CONTROL_TEXT_BYTES   16384
#define SPEX_CONTROL_ANSWER_BYTES 1024

/* Limits of a subscription's interval. */
#define SPEX_CONTROL_INTERVAL_MIN_MS 50
#define SPEX_CONTROL_INTERVAL_MAX_MS 86400000

/* Limits of a lease. */
#define SPEX_CONTROL_LEASE_MIN_MS 50
#define SPEX_CONTROL_LEASE_MAX_MS 86400000

enum spex_control_kind {
    /* requests */
    SPEX_CONTROL_SELECT = 1, /* followed by a selection of probes, without a 0 at its end */
    SPEX_CONTROL_PROFILE,
    SPEX_CONTROL_SUBSCRIBE, /* the first answer comes at once; an interval of 0 ends it */
    /* Followed by types of probes, "kernel,llc", or nothing for all types: streams their records.
     * The connection then belongs to the stream, and its end ends the stream. */
    SPEX_CONTROL_STREAM,
    /* Followed by "SAMPLES SHARE PATH": samples polled kernels by the models in the file at this
     * absolute path, so many samples an execution, for this share of the program's CPU time (0: the
     * program's budget). Or followed by nothing: by the models that the program was started
     * with. */
    SPEX_CONTROL_MODELS,
    /* As SELECT, and children of forks go on with their parent's probes from here on. */
    SPEX_CONTROL_FOLLOW,
    /* Followed by a reason: the program asks its flight recorder for a dump (spex_dump). */
    SPEX_CONTROL_DUMP,
    /* As SELECT and FOLLOW, for `interval_ms` alone, by the program's clock. A number that is not 0
     * names who holds the lease: the next one with that number stands in place of it. */
    SPEX_CONTROL_LEASE,
    SPEX_CONTROL_LEASE_FOLLOW,
    /* What was leased with the same number holds for `interval_ms` from now on, or, with 0, ends.
     * -ENOENT: nothing is leased with it, or no more. */
    SPEX_CONTROL_RENEW,
    /* As STREAM, with the given end of a pair of sockets (handover.h): while it is open at the
     * other end, children of forks go on with their parent's probes, send a connection over it, and
     * stream over that. */
    SPEX_CONTROL_STREAM_FOLLOW,
    /* As LEASE, within a budget: "SHARE SELECTION", where all probes may take this share of the
     * program's time while the lease holds. Of the budgets that several clients hold, and of the
     * program's own, the least is kept. */
    SPEX_CONTROL_LEASE_BUDGET,
    /* What a profile begins with, which takes no time for each probe. */
    SPEX_CONTROL_STATUS,
    /* Followed by a share of the program's time, such as "0.02", that all probes may take from now
     * on; 0: as without this request. It is one of the budgets of which the least is kept. */
    SPEX_CONTROL_BUDGET,
    /* frames of answers */
    SPEX_CONTROL_PROCESS = 16, /* struct spex_profile_process */
    SPEX_CONTROL_TYPES,        /* struct spex_profile_type … */
    SPEX_CONTROL_SITES,        /* struct spex_profile_site … */
    SPEX_CONTROL_PROBE,        /* struct spex_profile_probe */
    SPEX_CONTROL_VALUES,       /* struct spex_control_values, struct spex_control_bucket … */
    SPEX_CONTROL_DONE,         /* text: what is to be said to the user; may be empty */
    SPEX_CONTROL_SPREAD,       /* struct spex_control_spread … */
};

/* In a request for a stream, `interval_ms` holds flags: the client takes frames of the kind DUMP. */
#define SPEX_CONTROL_STREAM_DUMPS 1u

struct spex_control_request {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t number; /* chosen by the client, repeated in the answer */
    uint32_t interval_ms;
};

/* Flags of DONE. After a profile: spex stops in this program, and this was the last one. After a
 * selection: it selects probes, and none that is there matches. */
#define SPEX_CONTROL_FINAL     1u
#define SPEX_CONTROL_UNMATCHED 2u

/* The text of an answer to DUMP where nobody records. */
#define SPEX_CONTROL_UNRECORDED "nobody records this program: spex record --flight was expected"

struct spex_control_frame {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t number;      /* of the request */
    uint32_t entry_bytes; /* of one entry, of one byte of text, or of spex_control_values */
    uint32_t count;       /* entries, bytes of text, or buckets */
    int32_t status;       /* DONE: a negative errno value; after SELECT, how many sites are on */
    uint32_t flags;       /* DONE: SPEX_CONTROL_FINAL, SPEX_CONTROL_UNMATCHED */
    uint32_t next_ms; /* DONE of a profile: the next report comes so much later at least, and who
                             asks for profiles does so as seldom: the budget pays for no more */
};

/* Added to the number of a series: these are its `losses` (profile.h), and follow its values. A
 * receiver that does not know them leaves them out as it does series beyond its own. */
#define SPEX_CONTROL_LOSSES 0x100u

/* Value number `series` of the probe in the last PROBE frame. */
struct spex_control_values {
    uint32_t series;
    uint32_t scale; /* enum spex_value_scale */
    double weight;
    double mean;
    double squares;
    double min; /* of no values any number */
    double max;
    double origin;    /* as in struct spex_variance */
    double distances; /* as in struct spex_variance_sums, as is what follows */
    double products;
    double weights;
    double weights_all;
    double squared;
    double local;
    uint64_t left_out;
    struct spex_block_sums blocks;
};

/* A row of struct spex_variance that is not empty, of the values in the last VALUES frame. */
struct spex_control_spread {
    uint32_t series;
    uint32_t row;
    float ways[SPEX_VARIANCE_WAYS];
};

/* A bucket of struct spex_histogram that is not empty. */
struct spex_control_bucket {
    uint64_t bucket;
    uint64_t weight;
};

#endif
