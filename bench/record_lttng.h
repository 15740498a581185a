/* SPDX-License-Identifier: MIT */
/* The events of LTTng-UST that have what a record of spex has, but for its thread, which is a
 * context: one for the whole execution, or one for its begin and one for its end. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER spex_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./record_lttng.h"

#if !defined(SPEX_BENCH_RECORD_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SPEX_BENCH_RECORD_LTTNG_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(spex_bench, span, LTTNG_UST_TP_ARGS(uint32_t, ticks),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, ticks, ticks)))

LTTNG_UST_TRACEPOINT_EVENT(spex_bench, begin, LTTNG_UST_TP_ARGS(uint32_t, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, value, value)))

LTTNG_UST_TRACEPOINT_EVENT(spex_bench, end, LTTNG_UST_TP_ARGS(uint32_t, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, value, value)))

#endif

#include <lttng/tracepoint-event.h>
