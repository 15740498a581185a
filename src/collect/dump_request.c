/* SPDX-License-Identifier: MIT */
/* The request is one slot, since spex_dump may be called in a signal handler: it takes no lock,
 * allocates nothing, and its only system call is the futex of the doorbell. The slot goes FREE,
 * WRITTEN, READY and back. The frame tells the time of the call, by which the recorder knows which
 * records were made before it; so the frame need not come after them. */
#include "collect/dump_request.h"

#include <errno.h>

#include <spex/atomic.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "collect/sinks.h"
#include "ring/doorbell.h"

enum { FREE, WRITTEN, READY };

static int32_t slot_state;
static struct spex_stream_dump slot;
/* Relaxed: it orders nothing. */
static int32_t takers;

void spex_dump_takers_add(int change) {
    spex_fetch_add_relaxed(&takers, change);
}

int spex_dump(const char *why) {
    int32_t expected = FREE;
    if (spex_load_relaxed(&takers) <= 0)
        return -ENOENT;
    if (!spex_cas_acquire(&slot_state, &expected, WRITTEN)) /* M1 (M2) */
        return -EBUSY;
    slot.ticks = spex_ticks();
    size_t length = 0;
    for (; why && why[length] && length < sizeof(slot.why) - 1; length++)
        slot.why[length] = why[length];
    slot.why[length] = '\0';
    spex_store_release(&slot_state, READY); /* M3 (M4): the request is written */
    spex_doorbell_ring();
    return 0;
}

void spex_dump_request_pass(void) {
    if (spex_load_acquire(&slot_state) != READY) /* M4 (M3) */
        return;
    struct spex_stream_dump dump = slot;
    spex_store_release(&slot_state, FREE); /* M2 (M1): the request is copied */
    spex_sinks_dump(&dump);
}

/* Relaxed: the child has one thread. */
void spex_dump_request_forget(void) {
    spex_store_relaxed(&slot_state, FREE);
}
