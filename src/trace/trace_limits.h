/* SPDX-License-Identifier: MIT */
/* The limits of traces' files as people write them: in options of the spex command, and in
 * SPEX_OUT. */
#ifndef SPEX_TRACE_TRACE_LIMITS_H
#define SPEX_TRACE_TRACE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct spex_trace_limits {
    /* Most bytes of all files; 0: any number. */
    uint64_t keep;
    /* A new file after so many bytes, or so many seconds; 0: never. */
    uint64_t rotate_bytes;
    double rotate_seconds;
};

/* What is expected, for messages. */
#define SPEX_TRACE_KEEP_EXPECTED   "a size of 1M or more was expected, such as 1G"
#define SPEX_TRACE_ROTATE_EXPECTED "a size was expected, such as 64M, or seconds, such as 60s"

/* "64M" as bytes. False: it is none. */
bool spex_size_parse(const char *text, uint64_t *bytes);

/* "60s" as seconds, one or more. False: it is none. */
bool spex_seconds_parse(const char *text, double *seconds);

/* False: not what is expected. */
bool spex_trace_keep_parse(const char *text, struct spex_trace_limits *limits);
bool spex_trace_rotate_parse(const char *text, struct spex_trace_limits *limits);

/* Takes the limits from "DIR,keep=SIZE,rotate=SIZE|SECONDS", and cuts the text behind DIR. NULL, or
 * what is wrong. */
const char *spex_trace_limits_take(char *text, struct spex_trace_limits *limits);

#endif
