/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include "text/waits.h"

/* Tries, and nanoseconds between two of them. */
enum { TRIES = 400, TRY_AGAIN_NS = 50000 };

bool spex_lock_take_soon(struct spex_lock *lock) {
    for (int i = 0; i < TRIES; i++) {
        if (spex_lock_try(lock))
            return true;
        spex_wait_ns(TRY_AGAIN_NS);
    }
    return false;
}
