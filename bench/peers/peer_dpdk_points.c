/* SPDX-License-Identifier: MIT */
/* Registers the trace points of DPDK. */
#include <rte_trace_point_register.h>

#include "peer_dpdk.h"

RTE_TRACE_POINT_REGISTER(peer_begin, peer.begin)
RTE_TRACE_POINT_REGISTER(peer_end, peer.end)
