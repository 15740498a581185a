/* SPDX-License-Identifier: MIT */
/* The trace record: what one recorded execution of a probe leaves, as consumers see it (sinks,
 * policies, another process). The format is that of Go and Colmenares (EWiLi'16), Listing 1, with
 * weight, marks and losses added. Types and constants only. */
#ifndef SPEX_RECORD_H
#define SPEX_RECORD_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

/* Probe types. Each is one bit, so that a set of types is a mask. probe.h and kernel.h have the
 * macros, and what a record of each type contains. */
enum spex_probe_type {
    /* Executions of the enclosed code. */
    SPEX_CNT = 1 << 0,
    /* Ticks that the enclosed code takes. */
    SPEX_LAT = 1 << 1,
    /* Executions and ticks. */
    SPEX_TPT = 1 << 2,
    /* Values of the developer's choice. */
    SPEX_SNAPSHOT = 1 << 3,
    /* References to the last-level cache, and misses. */
    SPEX_LLC = 1 << 4,
    /* Page faults. */
    SPEX_FLT = 1 << 5,
    /* Context switches. */
    SPEX_CTXSW = 1 << 6,
    /* Events of a performance counter. */
    SPEX_PERFCNTR = 1 << 7,
    /* Ticks that a function or loop takes, with calling context and parameters. */
    SPEX_KERNEL = 1 << 8,
    /* Ticks from a BEGIN to the END with the same key, in whatever functions and threads they
     * are. */
    SPEX_SPAN = 1 << 9,
};

/* How many types there are. */
#define SPEX_PROBE_TYPES 10

/* Performance counters that a program can set up: pcid 0 to SPEX_PERFCNTRS - 1. */
#define SPEX_PERFCNTRS 8

/* SPANs of a process that can be open at one time. */
#define SPEX_SPANS_OPEN 65536

/* The most values that one record can carry: N in the paper. A library that is built with another
 * number (meson's option max_fields) passes it to programs through pkg-config. */
#ifndef SPEX_MAX_FIELDS
#define SPEX_MAX_FIELDS 6
#endif

/* KERNEL: the values of a record before the parameters (ticks and calling context), and the most
 * parameters that fit behind them. */
#define SPEX_KERNEL_VALUES     2
#define SPEX_KERNEL_PARAMETERS (SPEX_MAX_FIELDS - SPEX_KERNEL_VALUES)

/* KERNEL: calling contexts are numbered from 1 to SPEX_CONTEXTS_MAX; 1 is outside of all kernels.
 * */
#define SPEX_CONTEXTS_MAX 8192u
#define SPEX_CONTEXT_ROOT 1u

/* What the 64 bits of a value are: an unsigned integer, a signed one (two's complement), or a
 * double. Only what a program gives is signed or floating: values of SNAPSHOT, parameters of
 * KERNEL, keys of SPAN. */
enum spex_kind {
    SPEX_KIND_UNSIGNED = 0,
    SPEX_KIND_SIGNED = 1,
    SPEX_KIND_FLOATING = 2,
};

/* Remarks about a record; a mask. */
enum spex_mark {
    /* During this execution the thread's first use of a probe type was prepared. The values contain
     * the cost of that: of a time, a good part is. Figures leave such times out. */
    SPEX_MARK_OPENING = 1 << 0,
    /* The processor shared its counters among more events than it has. The values are extrapolated
     * from the part of the time in which the event was counted. */
    SPEX_MARK_SCALED = 1 << 1,
    /* The counter could not be read, did not count, or was that of another thread at BEGIN: there
     * are no values. */
    SPEX_MARK_UNAVAILABLE = 1 << 2,
    /* The execution was chosen at random with probability 1 / weight; it stands for `weight`
     * executions on average. Of a burst, this holds for the first execution. */
    SPEX_MARK_DRAWN = 1 << 3,
    /* The record is one of a burst: executions that are recorded one after the other. */
    SPEX_MARK_BURST = 1 << 4,
    /* The execution was chosen by the countdown that all probes of a region share (region.h). */
    SPEX_MARK_REGION = 1 << 5,
};

/* How many marks there are. */
#define SPEX_MARKS 6

/* Consumers receive whole records. `fields` beyond field_count have no meaning. */
struct spex_record {
    /* Ticks (ticks.h) at the time when the record was made. */
    uint64_t timestamp;
    /* One of enum spex_probe_type. */
    uint32_t probe_type;
    /* The kernel's thread id (gettid). */
    uint32_t thread_id;
    /* Executions that the record stands for, itself included. 0: a KERNEL's execution that had not
     * ended when the library looked at it (SPEX_MODELS in spex.h); it stands for none. */
    uint32_t weight;
    /* The probe's number in this process: the developer's id, or another number where a probe of
     * another provider has that one. */
    uint16_t probe_id;
    /* The CPU on which the record was made. */
    uint16_t cpu_id;
    /* Values in fields[], 0 to SPEX_MAX_FIELDS. */
    uint8_t field_count;
    /* A mask of enum spex_mark. */
    uint8_t marks;
    /* 1: records of the same ring were lost directly before this one. */
    uint8_t gap;
    uint8_t reserved;
    /* This record's share of the records that its ring has lost: those before it that no other
     * record accounts for. */
    uint32_t lost;
    /* Two bits for each field, from the lowest on: its enum spex_kind. */
    uint32_t kinds;
    uint32_t reserved_too;
    /* The values; those of the recorded execution alone, except for `weight`:
     *
     *     CNT                 {weight}
     *     LAT                 {ticks}
     *     TPT                 {weight, ticks}
     *     SNAPSHOT            {v0, …}
     *     LLC                 {references, misses}
     *     FLT CTXSW PERFCNTR  {events}
     *     KERNEL              {ticks, context, parameters …}
     *     SPAN                {ticks, key}; timestamp, thread and CPU are those of END, so that the
     *                         span began at `timestamp` - ticks */
    uint64_t fields[SPEX_MAX_FIELDS];
};

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
