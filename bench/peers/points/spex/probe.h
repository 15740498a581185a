/* SPDX-License-Identifier: MIT */
/* Stands in for the probes of spex in programs that bench/foreign patches: the same points by
 * another tracer, POINTS_LTTNG or POINTS_USDT, or none. It is found before the real header by the
 * order of include directories, so that one patch is enough for all.
 *
 * A point has a value as a record of spex has: a kernel's parameter, a snapshot's value, a span's
 * key. What spex makes one record of with two times is two events. A count is one. */
#ifndef SPEX_BENCH_POINTS_H
#define SPEX_BENCH_POINTS_H

#include <stdint.h>

#if defined(POINTS_LTTNG)
#include "record_lttng.h"
#define POINT(name, value) lttng_ust_tracepoint(spex_bench, name, (uint32_t)(uintptr_t)(value))
#elif defined(POINTS_USDT)
#include <sys/sdt.h>
#define POINT(name, value) STAP_PROBE1(spex_bench, name, (uint32_t)(uintptr_t)(value))
#else
#define POINT(name, value) (void)(value)
#endif

static inline __attribute__((always_inline, unused)) void point_scope_end(const uint32_t *value) {
    (void)value;
    POINT(end, *value);
}

#define POINT_SCOPE_NAME(line) point_scope_##line
#define POINT_SCOPE_IN(value, line)                                                                \
    __attribute__((cleanup(point_scope_end), unused)) uint32_t POINT_SCOPE_NAME(line) =            \
        (uint32_t)(value);                                                                         \
    POINT(begin, POINT_SCOPE_NAME(line))
#define POINT_SCOPE(value) POINT_SCOPE_IN(value, __LINE__)

#define SPEX_LAT_SCOPE(id, sc)             POINT_SCOPE(0)
#define SPEX_LAT_BEGIN(id, sc)             POINT(begin, 0)
#define SPEX_LAT_END(id)                   POINT(end, 0)
#define SPEX_CNT_BEGIN(id, sc)             POINT(begin, 0)
#define SPEX_CNT_END(id)                   (void)0
#define SPEX_SPAN_BEGIN(id, key)           POINT(begin, key)
#define SPEX_SPAN_END(id, key)             POINT(end, key)
#define SPEX_SNAPSHOT_PROBE(id, sc, value) POINT(begin, value)
#define SPEX_KERNEL_SCOPE(id, sc, value)   POINT_SCOPE(value)

#endif
