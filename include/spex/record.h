/* SPDX-License-Identifier: MIT */
/* The trace record: what one recorded execution of a probe leaves, as consumers see it (sinks,
 * policies, the stream to another process). Format after Go and Colmenares, "Enabling Performance
 * Exploration and Analysis for Multi-parametric Systems", Listing 1, with the weight added. */
#ifndef SPEX_RECORD_H
#define SPEX_RECORD_H

#include <stdint.h>

/* Probe types, one bit each, so that a set of types is a mask. */
enum spex_probe_type {
    SPEX_CNT = 1 << 0,      /* times the enclosed code has executed */
    SPEX_LAT = 1 << 1,      /* ticks the enclosed code takes */
    SPEX_TPT = 1 << 2,      /* times executed, and ticks taken */
    SPEX_SNAPSHOT = 1 << 3, /* values chosen by the developer */
};

#define SPEX_PROBE_TYPES 4

/* Most values one record can carry (the paper's N). */
#define SPEX_MAX_FIELDS 6

struct spex_record {
    uint64_t timestamp;  /* ticks of the time stamp counter when the record was made */
    uint32_t probe_type; /* one of enum spex_probe_type */
    uint32_t thread_id;  /* kernel thread id */
    uint32_t weight;     /* executions this record stands for, itself included; at least 1 */
    uint16_t probe_id;   /* the developer's number */
    uint16_t cpu_id;
    uint8_t field_count; /* values in fields[], 0 to SPEX_MAX_FIELDS */
    uint8_t reserved[7];
    /* CNT: {weight}; LAT: {ticks}; TPT: {weight, ticks}; SNAPSHOT: the values given.
     * `ticks` is the length of the recorded execution, not of all that the weight stands for. */
    uint64_t fields[SPEX_MAX_FIELDS];
};

#endif
