/* SPDX-License-Identifier: MIT */
/* LTTng-UST: an event at the begin and one at the end. bench/peers/run switches them on, with what
 * is recorded beside the value. */
#include "record_lttng.h"

#include "peer.h"

/* clang-format off */
PEER_LOOP(pairs, lttng_ust_tracepoint(spex_bench, begin, (uint32_t)i); PEER_WORK();
          lttng_ust_tracepoint(spex_bench, end, (uint32_t)i);)
/* clang-format on */

const struct peer_case peer_cases[] = {{.name = "events", .pairs = pairs}, {.name = NULL}};
