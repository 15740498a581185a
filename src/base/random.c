/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include "base/splitmix.h"

/* SplitMix64 is a bijection, so the two words of the state, which have different counters, differ:
 * at most one is 0, and the state is never all zero. */
void spex_random_seed(struct spex_random *random, uint64_t seed, uint64_t stream) {
    uint64_t counter = spex_splitmix_next(&seed) + stream;
    spex_store_relaxed(&random->state[0], spex_splitmix_next(&counter));
    spex_store_relaxed(&random->state[1], spex_splitmix_next(&counter));
}
