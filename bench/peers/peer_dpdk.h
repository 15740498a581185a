/* SPDX-License-Identifier: MIT */
/* The trace points of DPDK. Where <rte_trace_point_register.h> is included before, their functions
 * register them and do not record, so that this is the work of a file of its own. */
#ifndef SPEX_BENCH_PEER_DPDK_H
#define SPEX_BENCH_PEER_DPDK_H

#include <rte_trace_point.h>

/* clang-format off */
/* cppcheck-suppress unknownMacro */
RTE_TRACE_POINT(peer_begin, RTE_TRACE_POINT_ARGS(uint64_t value), rte_trace_point_emit_u64(value);)
/* cppcheck-suppress unknownMacro */
RTE_TRACE_POINT(peer_end, RTE_TRACE_POINT_ARGS(uint64_t value), rte_trace_point_emit_u64(value);)
/* clang-format on */

#endif
