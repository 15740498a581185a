/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

/* Tries, and nanoseconds between two of them. */
enum { TRIES = 400, TRY_AGAIN_NS = 50000 };

bool spex_lock_take_soon(struct spex_lock *lock) {
    const struct timespec again = {.tv_nsec = TRY_AGAIN_NS};
    for (int i = 0; i < TRIES; i++) {
        if (spex_lock_try(lock))
            return true;
        nanosleep(&again, NULL);
    }
    return false;
}
