/* SPDX-License-Identifier: MIT */
/* The doorbell of the collectors: they sleep until it rings. */
#ifndef SPEX_RING_DOORBELL_H
#define SPEX_RING_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

/* Wakes all collectors, because the state that they work by has changed. Any thread. */
void spex_doorbell_ring(void);

/* Wakes the collectors that sleep with a time limit, because a ring of records is due. Any thread
 * and signal handler; a system call only if a collector sleeps. */
void spex_doorbell_alarm(void);

/* Returns how often the doorbell has rung, for spex_doorbell_rest. A collector calls it before it
 * looks whether there is something to do. */
int32_t spex_doorbell_rings(void);

/* Sleeps for `ns` nanoseconds; UINT64_MAX: without a limit. Returns at once when the doorbell has
 * not rung exactly *seen times, otherwise when it rings or the time is over. Sets *seen to the
 * present number. `idle`: there are no records to come, and an alarm does not ring while collectors
 * only sleep idle. */
void spex_doorbell_rest(uint64_t ns, bool idle, int32_t *seen);

#endif
