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
    SPEX_LLC = 1 << 4,      /* references to the last-level cache and misses of it */
    SPEX_FLT = 1 << 5,      /* page faults */
    SPEX_CTXSW = 1 << 6,    /* context switches */
    SPEX_PERFCNTR = 1 << 7, /* events of a performance counter */
    SPEX_KERNEL = 1 << 8,   /* ticks a function or loop takes, with what they depend on */
};

#define SPEX_PROBE_TYPES 9

/* Performance counters that a program can set up. */
#define SPEX_PERFCNTRS 8

/* Most values one record can carry (the paper's N). A library built for more (meson's max_fields)
 * says so to the programs that use it, through pkg-config. */
#ifndef SPEX_MAX_FIELDS
#define SPEX_MAX_FIELDS 6
#endif

/* What a KERNEL's record holds before its parameters: ticks and context. */
#define SPEX_KERNEL_VALUES 2

/* What is to be said of a record, a mask. */
enum spex_mark {
    /* Within the execution this thread's first use of a probe type was prepared: what was measured
     * holds that too. */
    SPEX_MARK_OPENING = 1 << 0,
    /* The processor shared its counters among more events than it has: the values are estimated from
     * the part of the time that was counted. */
    SPEX_MARK_SCALED = 1 << 1,
    /* The counter could not be read, or did not count: there are no values. */
    SPEX_MARK_UNAVAILABLE = 1 << 2,
    /* The execution was chosen at random, with a probability of 1 / weight: the weight is how many it stands for
     * on average. Of a burst, the first was. */
    SPEX_MARK_DRAWN = 1 << 3,
    /* Of a burst of executions that are recorded one after the other. */
    SPEX_MARK_BURST = 1 << 4,
    /* It was chosen for its region, by a countdown that the probes there share. */
    SPEX_MARK_REGION = 1 << 5,
};

#define SPEX_MARKS 6

struct spex_record {
    uint64_t timestamp;  /* ticks of the time stamp counter when the record was made */
    uint32_t probe_type; /* one of enum spex_probe_type */
    uint32_t thread_id;  /* kernel thread id */
    uint32_t weight;     /* executions it stands for, itself included; 0: a look, see below */
    uint16_t probe_id;   /* the developer's number */
    uint16_t cpu_id;     /* where it was made */
    uint8_t field_count; /* values in fields[], 0 to SPEX_MAX_FIELDS */
    uint8_t marks;       /* of enum spex_mark */
    uint8_t gap;         /* 1: records of its ring were lost right before it */
    uint8_t reserved;
    uint32_t lost; /* records of its ring, which were lost before it and are nobody else's share */
    /* CNT: {weight}; LAT: {ticks}; TPT: {weight, ticks}; SNAPSHOT: the values given; LLC:
     * {references, misses}; FLT, CTXSW, PERFCNTR: {events}; KERNEL: {ticks, context, parameters}.
     * All but weight tell of the recorded execution, not of all that the weight stands for. A KERNEL of weight 0 is of an
     * execution that was under way when it was looked at, and stands for none: SPEX_MODELS. */
    uint64_t fields[SPEX_MAX_FIELDS];
};

#endif
