/* SPDX-License-Identifier: MIT */
/* What goes over a control socket: one request or frame a packet, on a Unix-domain SOCK_SEQPACKET socket,
 * host byte order (both ends are on one machine, though maybe of different releases).
 *
 *   command ──► SELECT text                              ──► DONE status, text
 *           ──► MODELS text                              ──► the same
 *           ──► PROFILE                                  ──► PROCESS TYPES… SITES… (PROBE (VALUES SPREAD)…)… DONE
 *           ──► SUBSCRIBE interval                       ──► the same, every so often; at last with FINAL
 *           ──► STREAM types                             ──► a stream's frames (../stream_format.h) from here on, or
 *                                                            DONE status, text
 *
 * A client has one answer at a time: the next request is read when it is complete. Structures only grow at
 * their ends; `entry_bytes` says how long they are here. */
#ifndef SPEX_WIRE_CONTROL_FORMAT_H
#define SPEX_WIRE_CONTROL_FORMAT_H

#include <stdint.h>

#include "profile/profile.h"

#define SPEX_CONTROL_MAGIC       0x43505853u /* "SXPC" */
#define SPEX_CONTROL_VERSION     2
#define SPEX_CONTROL_FRAME_BYTES 65536

/* Of a request's text, and of an answer's. */
#define SPEX_CONTROL_TEXT_BYTES   16384
#define SPEX_CONTROL_ANSWER_BYTES 1024

/* Between two answers of a subscription. */
#define SPEX_CONTROL_INTERVAL_MIN_MS 50
#define SPEX_CONTROL_INTERVAL_MAX_MS 86400000

enum spex_control_kind {
    /* requests */
    SPEX_CONTROL_SELECT = 1, /* followed by a selection of probes, without a 0 at its end */
    SPEX_CONTROL_PROFILE,
    SPEX_CONTROL_SUBSCRIBE, /* the first answer comes at once; an interval of 0 ends it */
    SPEX_CONTROL_STREAM, /* followed by types of probes, "kernel,llc", or nothing for all: their records. The connection
                            is the stream's then, and ends it */
    SPEX_CONTROL_MODELS, /* followed by how kernels that are probed are sampled: "SAMPLES SHARE PATH", so many samples an
                            execution, by the models in the file at this absolute path, for this share of the program's
                            time (0: what its budget is); or nothing, for what the program was started with */
    /* frames of answers */
    SPEX_CONTROL_PROCESS = 16, /* struct spex_profile_process */
    SPEX_CONTROL_TYPES,        /* struct spex_profile_type … */
    SPEX_CONTROL_SITES,        /* struct spex_profile_site … */
    SPEX_CONTROL_PROBE,        /* struct spex_profile_probe */
    SPEX_CONTROL_VALUES,       /* struct spex_control_values, struct spex_control_bucket … */
    SPEX_CONTROL_DONE,         /* text: what is to be said to the user; may be empty */
    SPEX_CONTROL_SPREAD,       /* struct spex_control_spread … */
};

struct spex_control_request {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t number; /* of the client's choice, to know the answer by */
    uint32_t interval_ms;
};

#define SPEX_CONTROL_FINAL                                                                         \
    1u /* spex stops in this program: the last profile, nothing comes after it */

struct spex_control_frame {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t number;      /* of the request */
    uint32_t entry_bytes; /* of one entry, of one byte of text, or of spex_control_values */
    uint32_t count;       /* entries, bytes of text, or buckets */
    int32_t status;       /* DONE: a negative errno value; after SELECT, how many sites are on */
    uint32_t flags;       /* DONE: SPEX_CONTROL_FINAL */
    uint32_t reserved;
};

/* Of the probe in the PROBE frame before; its `series`th value. */
struct spex_control_values {
    uint32_t series;
    uint32_t reserved;
    double weight;
    double mean;
    double squares;
    uint64_t min;
    uint64_t max;
    double origin;    /* as in struct spex_variance */
    double distances; /* as in struct spex_variance_sums, as is what follows */
    double products;
    double weights;
    double weights_all;
    double squared;
    double local;
};

/* Of the values in the VALUES frame before: a row of struct spex_variance that is not empty. */
struct spex_control_spread {
    uint32_t series;
    uint32_t row;
    float ways[SPEX_VARIANCE_WAYS];
};

/* One that is not empty, of struct spex_histogram. */
struct spex_control_bucket {
    uint64_t bucket;
    uint64_t weight;
};

#endif
