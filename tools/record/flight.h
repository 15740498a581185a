/* SPDX-License-Identifier: MIT */
/* A flight recorder: keeps the last seconds of each process in the memory of this command, and
 * writes them as a trace when something asks for it: a dump. A dump is written by a child of this
 * process, which has a copy of the memory, so that recording goes on meanwhile. */
#ifndef SPEX_TOOLS_RECORD_FLIGHT_H
#define SPEX_TOOLS_RECORD_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "tools/record/flight_memory.h"
#include "trace/trace.h"
#include "wire/stream_format.h"

/* Children that write at a time; most marks of a dump. */
enum { SPEX_FLIGHT_WRITERS = 4, SPEX_FLIGHT_MARKS = 16 };

struct spex_flight {
    /* How much of the past a dump has; 0: there is no flight recorder. */
    double seconds;
    struct spex_flight_memory memory;
    /* Most dumps; how many there are, and how many more were asked for. */
    unsigned most;
    unsigned dumps;
    unsigned left_out;
    struct spex_instant begin;
    const char *directory;
    pid_t writers[SPEX_FLIGHT_WRITERS];
    uint32_t owners;
    /* Readable when the signal has come that asks for dumps of all processes. */
    int signal_fd;
    /* How many of these could not be written. */
    unsigned failures;
};

/* What a flight recorder knows of a process besides its records. */
struct spex_flown {
    uint32_t owner;
    char program[64];
    int process_id;
    struct spex_stream_site *sites;
    size_t site_count;
    struct spex_stream_context *contexts;
    size_t context_count;
    /* The frames of the last profile. */
    char *profile;
    size_t profile_bytes;
    /* The collectors have handed over all before this, in ticks. */
    uint64_t watermark;
    /* The last dump, in CLOCK_MONOTONIC; 0: none. */
    uint64_t dumped_ns;
    /* The dump that is due: how often it was asked for, when first, and the first reasons. */
    unsigned asked;
    uint64_t asked_ns;
    struct spex_stream_dump requests[SPEX_FLIGHT_MARKS];
    /* All of the process. */
    uint64_t records;
    uint64_t lost;
};

/* Opens the descriptor of the signal. 0 or a negative errno value. */
int spex_flight_open(struct spex_flight *flight);

/* Waits for the children, and frees the memory. */
void spex_flight_close(struct spex_flight *flight);

/* NULL: no memory. */
struct spex_flown *spex_flown_new(struct spex_flight *flight, const char *program, int process_id);
void spex_flown_free(struct spex_flown *flown);

/* Takes a frame, which is sound, and the records that it has; `watermark`: as far as all collectors
 * are, `lost`: records that the process has lost. 0 or -ENOMEM. */
int spex_flown_take(struct spex_flight *flight, struct spex_flown *flown,
                    const struct spex_stream_header *header, const char *frame,
                    const struct spex_record *records, uint64_t watermark, uint64_t lost);

/* Takes records that have not come as a frame. */
void spex_flown_records(struct spex_flight *flight, struct spex_flown *flown,
                        const struct spex_record *records, uint32_t count);

void spex_flown_profile(struct spex_flown *flown, const void *frames, size_t bytes);

/* A dump is asked for now. */
void spex_flown_ask(struct spex_flown *flown, const char *why);

/* Whether the signal has come. */
bool spex_flight_signalled(const struct spex_flight *flight);

/* Whether a dump that was asked for can be made: the collectors have handed over what was recorded
 * before, or have had a second for it; the last one is not too recent, and a child is free. */
bool spex_flown_is_due(struct spex_flight *flight, const struct spex_flown *flown);

/* Makes it. */
void spex_flown_dump(struct spex_flight *flight, struct spex_flown *flown);

#endif
