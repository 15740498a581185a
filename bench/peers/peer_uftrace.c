/* SPDX-License-Identifier: MIT */
/* uftrace: the entry and the exit of a function, with its argument. Compiled with
 * -fpatchable-function-entry the function begins with nops, which uftrace patches as it starts the
 * program. */
#include "peer.h"

PEER_HOOKED(hooked, used)
PEER_HOOKED(plain, patchable_function_entry(0))

PEER_LOOP(pairs, hooked(i);)
PEER_LOOP(empty, plain(i);)

const struct peer_case peer_cases[] = {{.name = "functions", .pairs = pairs, .empty = empty},
                                       {.name = NULL}};
