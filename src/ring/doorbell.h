/* SPDX-License-Identifier: MIT */
/* The doorbell of the collectors: they rest until it rings. */
#ifndef SPEX_RING_DOORBELL_H
#define SPEX_RING_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

/* Wakes all collectors: the state that they are to look at has changed. */
void spex_doorbell_ring(void);

/* A ring is due: wakes collectors that rest with a time limit. Any thread, signal handlers. */
void spex_doorbell_alarm(void);

/* How often the doorbell has rung, for spex_doorbell_rest. */
int32_t spex_doorbell_rings(void);

/* Rests for `ns`, which are less than a second, or, if `idle`, without a limit; no longer than
 * until the doorbell has rung more than *seen times. *seen becomes the present number. */
void spex_doorbell_rest(uint64_t ns, bool idle, int32_t *seen);

#endif
