/* SPDX-License-Identifier: MIT */
/* How long a collector sleeps between passes. It adapts so that rings stay well below full: a sleep
 * halves, down to none, when a ring was over a quarter full, and doubles while all were below an
 * eighth. A ring that is half full wakes collectors before that. */
#ifndef SPEX_COLLECT_SLEEP_H
#define SPEX_COLLECT_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#define SPEX_SLEEP_SHORTEST_NS 50000u
/* A record waits at most for so long where somebody waits for records; elsewhere for the longest
 * sleep, since a pass may take 0.1 ms where the collector's code has left the caches, or for the
 * pause between passes that a budget asks for (spex_collectors_rest). The first record after a pause
 * waits for the idle sleep: while a site is on, the collector of an idle program wakes nine times a
 * second. */
#define SPEX_SLEEP_PROMPT_NS   10000000u
#define SPEX_SLEEP_LONGEST_NS  50000000u
#define SPEX_SLEEP_IDLE_NS     110000000u

/* The longest sleep while there are records. `prompt`: whether somebody waits for them; `rest_ns`:
 * what a budget asks for. */
static inline uint64_t spex_sleep_longest(bool prompt, uint64_t rest_ns) {
    if (prompt)
        return SPEX_SLEEP_PROMPT_NS;
    return rest_ns > SPEX_SLEEP_LONGEST_NS ? rest_ns : SPEX_SLEEP_LONGEST_NS;
}

/* Returns the next sleep after one of `ns` nanoseconds; 0: none. `fullest`: greatest fill of the
 * rings since the last sleep, 0 to 1; `any`: whether they had a record. */
static inline uint64_t spex_sleep_next(uint64_t ns, double fullest, bool any, uint64_t longest) {
    if (fullest > 0.25)
        ns = ns / 2 >= SPEX_SLEEP_SHORTEST_NS ? ns / 2 : 0;
    else if (fullest < 0.125)
        ns = ns == 0 ? SPEX_SLEEP_SHORTEST_NS : ns * 2;
    if (any || ns < longest)
        return ns < longest ? ns : longest;
    return longest > SPEX_SLEEP_IDLE_NS ? longest : SPEX_SLEEP_IDLE_NS;
}

#endif
