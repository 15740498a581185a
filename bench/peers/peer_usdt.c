/* SPDX-License-Identifier: MIT */
/* USDT: a nop at the begin and one at the end, until somebody attaches. */
#include <sys/sdt.h>

#include "peer.h"

/* As in spex/sdt.h: of the macros of <sys/sdt.h>. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/* clang-format off */
PEER_LOOP(pairs, STAP_PROBE1(spex_bench, begin, i); PEER_WORK(); STAP_PROBE1(spex_bench, end, i);)
/* clang-format on */

const struct peer_case peer_cases[] = {{.name = "nops", .pairs = pairs}, {.name = NULL}};
